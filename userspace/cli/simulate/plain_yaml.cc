// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/simulate/plain_yaml.h"

#include <algorithm>
#include <array>
#include <memory>
#include <string>

namespace weir::cli {
namespace {

using config::Mark;
using config::Value;
using config::ValuePtr;

// Nothing weir reads is nested this deeply.
constexpr unsigned kMaxPlainDepth = 30;
// Where the search for duplicate keys is still cheap.
constexpr std::size_t kMaxPlainKeys = 64;

// Thrown where the text stops being plain.
struct NotPlain {};

constexpr std::array<bool, 256> charactersOf(std::string_view some) {
  std::array<bool, 256> is{};
  for (char c = '0'; c <= '9'; ++c) is[static_cast<unsigned char>(c)] = true;
  for (char c = 'a'; c <= 'z'; ++c) is[static_cast<unsigned char>(c)] = true;
  for (char c = 'A'; c <= 'Z'; ++c) is[static_cast<unsigned char>(c)] = true;
  for (const char c : some) is[static_cast<unsigned char>(c)] = true;
  return is;
}
constexpr auto kFirst = charactersOf("./+_");
constexpr auto kInFlow = charactersOf("./+_-:@=~^()$;");
constexpr auto kInBlock = charactersOf("./+_-:@=~^()$;,");

constexpr bool is(const std::array<bool, 256>& set, char c) noexcept {
  return set[static_cast<unsigned char>(c)];
}

class PlainReader {
 public:
  PlainReader(std::string_view text, const ItemSink& item) : text_(text), item_(item) {}

  Mark here() const noexcept { return {line_, column()}; }

  ValuePtr document() {
    if (text_.substr(0, 4) == "---\n") pos_ = 3;
    if (!toContent()) throw NotPlain{};
    const bool isMapping = peek() == '{' || peek() == '"' || is(kFirst, peek());
    if (!isMapping) throw NotPlain{};
    ValuePtr root;
    if (peek() == '{') {
      root = flowMapping(true);
    } else {
      if (column() != 0) throw NotPlain{};
      root = blockMapping(true);
    }
    if (toContent()) throw NotPlain{};
    return root;
  }

 private:
  char peek(std::size_t ahead = 0) const noexcept {
    return pos_ + ahead < text_.size() ? text_[pos_ + ahead] : '\n';
  }
  bool atEnd() const noexcept { return pos_ >= text_.size(); }
  unsigned column() const noexcept { return static_cast<unsigned>(pos_ - lineStart_); }
  bool isBreak(std::size_t ahead = 0) const noexcept {
    return peek(ahead) == ' ' || peek(ahead) == '\n';
  }
  bool atDash() const noexcept { return peek() == '-' && isBreak(1); }

  void skipSpaces() noexcept {
    while (!atEnd() && peek() == ' ') ++pos_;
  }

  // To the next character that is not blank, comment or line end. False: end of the text.
  bool toContent() {
    for (;;) {
      const std::size_t before = pos_;
      skipSpaces();
      if (!atEnd() && peek() == '#') {
        const bool separated = column() == 0 || pos_ > before || text_[pos_ - 1] == ' ';
        if (!separated) throw NotPlain{};
        while (!atEnd() && peek() != '\n') ++pos_;
      }
      if (atEnd()) return false;
      if (peek() != '\n') return true;
      ++pos_;
      ++line_;
      lineStart_ = pos_;
    }
  }

  // After a value in block context: nothing but a comment may follow on its line.
  void endOfLine() {
    const unsigned line = line_;
    const bool separated = isBreak() || atEnd();
    if (toContent() && line_ == line) throw NotPlain{};
    if (!separated) throw NotPlain{};
  }

  struct Depth {
    explicit Depth(PlainReader& reader) : reader_(reader) {
      if (++reader_.depth_ > kMaxPlainDepth) throw NotPlain{};
    }
    ~Depth() { --reader_.depth_; }
    Depth(const Depth&) = delete;
    Depth& operator=(const Depth&) = delete;
    PlainReader& reader_;
  };

  std::shared_ptr<Value> make(Value::Kind kind) const {
    auto value = std::make_shared<Value>();
    value->kind = kind;
    value->mark = here();
    return value;
  }

  // --- scalars ---

  std::shared_ptr<Value> scalar(const std::array<bool, 256>& inside) {
    auto value = make(Value::Kind::scalar);
    if (peek() == '"' || peek() == '\'') {
      value->quoted = true;
      quotedText(*value);
    } else {
      plainText(*value, inside);
    }
    return value;
  }

  void quotedText(Value& value) {
    const char quote = peek();
    const std::size_t begin = ++pos_;
    while (!atEnd() && peek() != quote) {
      const auto c = static_cast<unsigned char>(peek());
      if (c == '\\' || c < 0x20 || c > 0x7e) throw NotPlain{};
      ++pos_;
    }
    if (atEnd()) throw NotPlain{};
    value.text = text_.substr(begin, pos_ - begin);
    ++pos_;
    if (peek() == quote) throw NotPlain{};  // '' is an escaped quote
  }

  void plainText(Value& value, const std::array<bool, 256>& inside) {
    const bool signedNumber = peek() == '-' && is(kFirst, peek(1));
    if (atEnd() || (!is(kFirst, peek()) && !signedNumber)) throw NotPlain{};
    const std::size_t begin = pos_;
    std::size_t end = pos_;  // after the last character that is not blank
    while (!atEnd()) {
      const char c = peek();
      if (c == ':' && (isBreak(1) || pos_ + 1 == text_.size())) break;
      if (is(inside, c)) {
        end = ++pos_;
      } else if (c == ' ') {
        ++pos_;
      } else {
        break;
      }
    }
    // A ':' before a flow indicator is read in different ways by different parsers.
    if (text_[end - 1] == ':') throw NotPlain{};
    pos_ = end;
    value.text = text_.substr(begin, end - begin);
    if (value.text == "null" || value.text == "Null" || value.text == "NULL") throw NotPlain{};
  }

  void addEntry(Value& mapping, std::string key, Mark mark, ValuePtr value) {
    if (mapping.entries.size() == kMaxPlainKeys || mapping.find(key) != nullptr) throw NotPlain{};
    mapping.entries.push_back({std::move(key), mark, std::move(value)});
  }

  // --- flow collections ---

  ValuePtr flowValue(std::string_view list) {
    if (!toContent()) throw NotPlain{};
    if (peek() == '[') return flowSequence(list);
    if (peek() == '{') return flowMapping(false);
    return scalar(kInFlow);
  }

  // Consumes ',' or the closing bracket; true: there is another item.
  bool anotherItem(char closing) {
    if (!toContent()) throw NotPlain{};
    const char c = peek();
    if (c != ',' && c != closing) throw NotPlain{};
    ++pos_;
    if (c == closing) return false;
    if (!isBreak() || !toContent() || peek() == closing || peek() == ',') throw NotPlain{};
    return true;
  }

  bool closesAtOnce(char closing) {
    ++pos_;
    if (!toContent()) throw NotPlain{};
    if (peek() != closing) return false;
    ++pos_;
    return true;
  }

  ValuePtr flowSequence(std::string_view list) {
    const Depth depth(*this);
    auto value = make(Value::Kind::sequence);
    if (closesAtOnce(']')) return value;
    do {
      ValuePtr item = flowValue({});
      if (toContent() && peek() == ':') throw NotPlain{};  // a mapping of one pair
      take(*value, std::move(item), list);
    } while (anotherItem(']'));
    return value;
  }

  ValuePtr flowMapping(bool top) {
    const Depth depth(*this);
    auto value = make(Value::Kind::mapping);
    if (closesAtOnce('}')) return value;
    do {
      const unsigned line = line_;
      const auto key = scalar(kInFlow);
      if (line_ != line || peek() != ':' || !isBreak(1)) throw NotPlain{};
      ++pos_;
      const std::string_view list = top ? std::string_view(key->text) : std::string_view();
      addEntry(*value, key->text, key->mark, flowValue(listName(list)));
    } while (anotherItem('}'));
    return value;
  }

  // --- block collections ---

  static std::string_view listName(std::string_view key) noexcept {
    return key == "events" || key == "expect" ? key : std::string_view();
  }

  void take(Value& sequence, ValuePtr item, std::string_view list) {
    if (list.empty())
      sequence.items.push_back(std::move(item));
    else
      item_(list, std::move(item));
  }

  // Is there a key here: a scalar with a ':' on the same line?
  bool atKey() {
    const std::size_t before = pos_;
    const bool quoted = peek() == '"' || peek() == '\'';
    if (!quoted && !is(kFirst, peek())) return false;
    scalar(kInBlock);
    const bool found = peek() == ':' && isBreak(1);
    pos_ = before;
    return found;
  }

  // The value that begins here, at or right of `indent`. Stops at the content after it.
  ValuePtr blockValue(std::string_view list) {
    const Depth depth(*this);
    if (atDash()) return blockSequence(list);
    if (peek() != '[' && peek() != '{' && atKey()) return blockMapping(false);
    return inlineValue(list);
  }

  ValuePtr inlineValue(std::string_view list) {
    ValuePtr value;
    if (peek() == '[')
      value = flowSequence(list);
    else if (peek() == '{')
      value = flowMapping(false);
    else
      value = scalar(kInBlock);
    endOfLine();
    return value;
  }

  ValuePtr blockSequence(std::string_view list) {
    auto value = make(Value::Kind::sequence);
    const unsigned indent = column();
    do {
      ++pos_;
      const unsigned line = line_;
      if (!toContent()) throw NotPlain{};
      if (line_ != line && column() <= indent) throw NotPlain{};  // an empty item
      take(*value, blockValue({}), list);
    } while (continues(indent) && atDash());
    return value;
  }

  ValuePtr blockMapping(bool top) {
    auto value = make(Value::Kind::mapping);
    const unsigned indent = column();
    do {
      if (!atKey()) throw NotPlain{};
      const auto key = scalar(kInBlock);
      ++pos_;
      const std::string_view list = top ? listName(key->text) : std::string_view();
      const unsigned line = line_;
      if (!toContent()) throw NotPlain{};
      const bool nested = column() > indent || (column() == indent && atDash());
      if (line_ != line && !nested) throw NotPlain{};  // an empty value
      ValuePtr child;
      if (line_ == line) {
        if (atDash()) throw NotPlain{};
        child = inlineValue(list);
      } else {
        child = blockValue(list);
      }
      addEntry(*value, key->text, key->mark, std::move(child));
    } while (continues(indent) && !atDash());
    return value;
  }

  // After an item: does the next content stand in the same collection? What stands further right
  // would belong to the value before it.
  bool continues(unsigned indent) {
    if (atEnd()) return false;
    if (column() > indent) throw NotPlain{};
    return column() == indent;
  }

  std::string_view text_;
  const ItemSink& item_;
  std::size_t pos_ = 0;
  std::size_t lineStart_ = 0;
  unsigned line_ = 0;
  unsigned depth_ = 0;
};

}  // namespace

PlainDocument readPlainYaml(const config::Text& text, const ItemSink& item) {
  const Mark start;
  if (const auto fault = text.firstFault()) return {nullptr, fault->mark};
  PlainReader reader(text.bytes(), item);
  try {
    return {reader.document(), start};
  } catch (const NotPlain&) {
    return {nullptr, reader.here()};
  }
}

}  // namespace weir::cli
