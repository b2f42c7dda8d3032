// SPDX-License-Identifier: GPL-2.0-or-later
//
// The reading layer: a Schema declares the fields of a mapping once - name, type with its range,
// the member it fills - and from that one declaration come the reading, the messages, and the
// description (MappingInfo) that the reference and the tests are compared with.
//
//   Schema<Route>("a route")
//       .required("name", resourceName(), &Route::name)
//       .field("priority", integer(0, 65535), &Route::priority)
//       .ignored({"id", "selfLink"})
//       .refused("nextHopIp", "weir routes to load balancers only: use nextHopIlb");
#pragma once

#include <chrono>
#include <concepts>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "config/problems.h"
#include "config/value.h"
#include "config/write_value.h"

namespace weir::config {

// What values are read with: where complaints go.
class Reader {
 public:
  Reader(const Text& text, Problems& problems) : text_(text), problems_(problems) {}
  const Text& text() const noexcept { return text_; }
  Problems& problems() noexcept { return problems_; }
  Origin at(Mark mark) const noexcept { return {&text_, mark}; }
  void error(Mark mark, std::string message) { problems_.error(at(mark), std::move(message)); }
  // Reads a value by `read()` and marks it when that finds anything wrong with it.
  template <class Read>
  void watch(const Value& value, Read read) {
    const std::size_t before = problems_.errors();
    read();
    if (problems_.errors() != before) problems_.markWrong(value);
  }
  // Was anything wrong with the value of a key? False when the key is not there.
  bool isWrong(const Value& mapping, std::string_view key) const {
    const auto* entry = mapping.find(key);
    return entry != nullptr && problems_.isWrong(*entry->value);
  }
  // "port must be a whole number from 1 to 65535, not 'x'".
  void mustBe(const Value& value, std::string_view allowed);

  // What is being read, for mustBe(); restores the outer one when it goes.
  class Scope {
   public:
    Scope(Reader& reader, std::string_view field, bool item = false)
        : reader_(reader), outer_(reader.field_), outerItem_(reader.item_) {
      reader.field_ = field;
      reader.item_ = item;
    }
    ~Scope() {
      reader_.field_ = outer_;
      reader_.item_ = outerItem_;
    }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Reader& reader_;
    std::string_view outer_;
    bool outerItem_;
  };
  std::string_view field() const noexcept { return field_; }

 private:
  const Text& text_;
  Problems& problems_;
  std::string_view field_;
  bool item_ = false;  // an item of field_
};

struct MappingInfo;

// The description of a field.
struct FieldInfo {
  enum class Use : std::uint8_t {
    read,
    ignored,  // accepted whatever it holds: output of an export, or without meaning here
    refused,  // known to be Google's, with a reason why weir does not have it
  };
  std::string name;
  Use use = Use::read;
  std::string allowed;       // in words, "a whole number from 1 to 300"; refused: the reason
  std::string defaultValue;  // as it would be written; empty: none
  bool required = false;
  bool list = false;                     // allowed, mapping: of its items
  const MappingInfo* mapping = nullptr;  // the fields inside
};

struct MappingInfo {
  std::string title;  // "a route"
  std::vector<FieldInfo> fields;
};

// A type of values: how one is read from YAML and what is allowed. `read` reports what is wrong;
// it returns nullopt when there is no value then, or the value as far as it is right (a mapping, a
// list with empty items in the place of wrong ones), so that the rest can be checked too. What is
// wrong is marked (Problems::isWrong).
template <class V>
struct Type {
  std::string allowed;
  std::function<std::optional<V>(const Value&, Reader&)> read;
  std::function<std::string(const V&)> show;  // in a description; empty: cannot be shown
  // What `read` makes the same value of. Empty: the text that `show` gives; for texts, themselves.
  std::function<ValuePtr(const V&)> write;
  bool list = false;
  const MappingInfo* mapping = nullptr;
};

// Walks a mapping by its description and calls `readField` with the index and value of every field
// to be read. Reports unknown keys, refused and missing fields.
void readMapping(const MappingInfo& info, const Value& value, Reader& reader,
                 const std::function<void(std::size_t, const Value&)>& readField);

namespace detail {

template <class M, class V>
M convertTo(V value) {
  if constexpr (std::is_same_v<M, V>)
    return value;
  else if constexpr (requires { typename M::value_type; } && !std::is_same_v<M, std::string>)
    return M(convertTo<typename M::value_type>(std::move(value)));  // optional
  else if constexpr (requires { typename M::period; })
    return M(static_cast<typename M::rep>(value));  // a duration
  else
    return static_cast<M>(value);
}

// The other way round: a value as its type reads it.
template <class V, class M>
V convertBack(const M& member) {
  if constexpr (std::is_same_v<M, V>)
    return member;
  else if constexpr (requires { member.has_value(); })
    return convertBack<V>(*member);
  else if constexpr (requires { member.count(); })
    return static_cast<V>(member.count());
  else
    return static_cast<V>(member);
}

template <class V>
std::function<ValuePtr(const V&)> writerOf(const Type<V>& type) {
  if (type.write) return type.write;
  if constexpr (std::is_same_v<V, std::string>)
    return [](const V& text) { return textValue(text); };
  else
    return [show = type.show](const V& value) { return textValue(show(value)); };
}

// Is there nothing to write? An optional member is not given by default.
template <class M>
bool isDefault(const M& member, const M& otherwise) {
  if constexpr (requires { member.has_value(); })
    return !member.has_value();
  else
    return member == otherwise;
}

template <class V, class M>
std::string showDefault(const Type<V>& type, const M& member) {
  if (!type.show) return "";
  if constexpr (std::is_same_v<M, V>)
    return type.show(member);
  else if constexpr (requires { member.has_value(); })
    return "";
  else if constexpr (requires { member.count(); })
    return type.show(static_cast<V>(member.count()));
  else
    return type.show(static_cast<V>(member));
}

}  // namespace detail

template <class T>
class Schema {
 public:
  explicit Schema(std::string title) { info_.title = std::move(title); }
  // Only to be returned by the function that makes it: descriptions point to each other later.
  Schema(Schema&&) = default;

  // A field that fills `member`. Its default is the member's in a default T, unless `otherwise`
  // says in words what applies when it is not given.
  template <class C, class V, class M>
  requires std::derived_from<T, C> Schema& field(std::string_view name, Type<V> type, M C::*member,
                                                 std::string otherwise = "") {
    FieldInfo info = describe(name, type);
    const T defaults{};
    info.defaultValue =
        otherwise.empty() ? detail::showDefault(type, defaults.*member) : std::move(otherwise);
    add(
        std::move(info),
        [read = type.read, member](const Value& value, T& out, Reader& r) {
          if (auto v = read(value, r)) out.*member = detail::convertTo<M>(std::move(*v));
        },
        [write = detail::writerOf(type), member,
         otherwise = defaults.*member](const T& in) -> ValuePtr {
          if (detail::isDefault<M>(in.*member, otherwise)) return nullptr;
          return write(detail::convertBack<V>(in.*member));
        });
    return *this;
  }

  template <class C, class V, class M>
  requires std::derived_from<T, C> Schema& required(std::string_view name, Type<V> type,
                                                    M C::*member) {
    field(name, type, member);
    info_.fields.back().required = true;
    info_.fields.back().defaultValue.clear();
    writers_.back() = [write = detail::writerOf(type), member](const T& in) {
      return write(detail::convertBack<V>(in.*member));
    };
    return *this;
  }

  // A mapping whose fields fill members of this T: Google groups what the model keeps flat.
  template <class C>
  requires std::derived_from<T, C> Schema& inside(std::string_view name, const Schema<C>& schema) {
    FieldInfo info;
    info.name = name;
    info.allowed = "a mapping";
    info.mapping = &schema.info();
    add(
        std::move(info),
        [&schema](const Value& value, T& out, Reader& reader) { schema.read(value, out, reader); },
        [&schema](const T& in) -> ValuePtr {
          ValuePtr written = schema.write(in);
          return written->entries.empty() ? nullptr : written;
        });
    return *this;
  }

  // A field that is read and checked but has no effect in weir.
  template <class V>
  Schema& checked(std::string_view name, Type<V> type) {
    FieldInfo info = describe(name, type);
    add(
        std::move(info),
        [type = std::move(type)](const Value& value, T&, Reader& reader) {
          static_cast<void>(type.read(value, reader));
        },
        nullptr);
    return *this;
  }

  Schema& ignored(std::initializer_list<std::string_view> names) {
    for (const auto name : names) {
      FieldInfo info;
      info.name = name;
      info.use = FieldInfo::Use::ignored;
      add(std::move(info), nullptr, nullptr);
    }
    return *this;
  }

  Schema& refused(std::initializer_list<std::string_view> names, std::string_view reason) {
    for (const auto name : names) {
      FieldInfo info;
      info.name = name;
      info.use = FieldInfo::Use::refused;
      info.allowed = reason;
      add(std::move(info), nullptr, nullptr);
    }
    return *this;
  }

  const MappingInfo& info() const noexcept { return info_; }

  // Fills `out` with the fields that are right.
  void read(const Value& value, T& out, Reader& reader) const {
    readMapping(info_, value, reader, [&](std::size_t index, const Value& field) {
      readers_[index](field, out, reader);
    });
  }

  // A mapping of the fields that are not at their default, in the order of declaration.
  ValuePtr write(const T& in) const {
    Value mapping;
    mapping.kind = Value::Kind::mapping;
    for (std::size_t i = 0; i < writers_.size(); ++i)
      if (writers_[i])
        if (ValuePtr value = writers_[i](in))
          addEntry(mapping, info_.fields[i].name, std::move(value));
    return std::make_shared<const Value>(std::move(mapping));
  }

 private:
  using Write = std::function<ValuePtr(const T&)>;  // nullptr: nothing to write

  template <class V>
  static FieldInfo describe(std::string_view name, const Type<V>& type) {
    FieldInfo info;
    info.name = name;
    info.allowed = type.allowed;
    info.list = type.list;
    info.mapping = type.mapping;
    return info;
  }

  void add(FieldInfo info, std::function<void(const Value&, T&, Reader&)> read, Write write) {
    info_.fields.push_back(std::move(info));
    readers_.push_back(std::move(read));
    writers_.push_back(std::move(write));
  }

  MappingInfo info_;
  std::vector<std::function<void(const Value&, T&, Reader&)>> readers_;
  std::vector<Write> writers_;  // empty: has no member to write
};

// A mapping as the type of a field. The schema must live for ever.
template <class T>
Type<T> mappingOf(const Schema<T>& schema) {
  Type<T> type;
  type.allowed = "a mapping";
  type.mapping = &schema.info();
  type.read = [&schema](const Value& value, Reader& reader) -> std::optional<T> {
    T out{};
    schema.read(value, out, reader);
    return out;
  };
  type.write = [&schema](const T& in) { return schema.write(in); };
  return type;
}

}  // namespace weir::config
