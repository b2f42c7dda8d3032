// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/api/value_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <unordered_set>
#include <vector>

#include "config/words.h"
#include "config/write_value.h"

namespace weir::manager {

namespace {

using config::Value;
using config::ValuePtr;
using nlohmann::json;

// nlohmann's reader calls these; false ends the reading.
class Builder : public nlohmann::json_sax<json> {
 public:
  ValuePtr result() { return std::move(root_); }
  const std::string& fault() const noexcept { return fault_; }

  bool null() override { return put(std::make_shared<const Value>()); }
  bool boolean(bool value) override { return put(config::plainValue(value ? "true" : "false")); }
  bool number_integer(std::int64_t value) override {
    return put(config::plainValue(std::to_string(value)));
  }
  bool number_unsigned(std::uint64_t value) override {
    return put(config::plainValue(std::to_string(value)));
  }
  bool number_float(double, const std::string& written) override {
    return put(config::plainValue(written));
  }
  bool string(std::string& value) override { return put(config::textValue(std::move(value))); }
  bool binary(json::binary_t&) override { return false; }

  bool start_object(std::size_t) override { return open(Value::Kind::mapping); }
  bool start_array(std::size_t) override { return open(Value::Kind::sequence); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(std::string& name) override {
    Level& level = levels_.back();
    if (!level.keys.insert(name).second)
      return refuse(fmt::format("the member {} is there twice", config::quote(name)));
    level.value.entries.push_back({std::move(name), {}, nullptr});
    return true;
  }
  bool parse_error(std::size_t position, const std::string&, const json::exception&) override {
    return refuse(fmt::format("it ends or goes wrong at byte {}", position));
  }

 private:
  struct Level {
    Value value;
    std::unordered_set<std::string> keys;
  };

  bool refuse(std::string why) {
    if (fault_.empty()) fault_ = std::move(why);
    return false;
  }

  bool put(ValuePtr value) {
    if (++count_ > kMaxBodyValues)
      return refuse(fmt::format("it has more than {} values", kMaxBodyValues));
    if (levels_.empty()) {
      root_ = std::move(value);
      return true;
    }
    Value& around = levels_.back().value;
    if (around.kind == Value::Kind::mapping)
      around.entries.back().value = std::move(value);
    else
      around.items.push_back(std::move(value));
    return true;
  }

  bool open(Value::Kind kind) {
    if (levels_.size() >= config::kMaxDepth)
      return refuse(fmt::format("it is nested deeper than {} levels", config::kMaxDepth));
    levels_.emplace_back().value.kind = kind;
    return true;
  }

  bool close() {
    auto value = std::make_shared<const Value>(std::move(levels_.back().value));
    levels_.pop_back();
    return put(std::move(value));
  }

  ValuePtr root_;
  std::vector<Level> levels_;
  std::size_t count_ = 0;
  std::string fault_;
};

template <class N>
std::optional<N> numberIn(const std::string& text) {
  N number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole ? std::optional(number) : std::nullopt;
}

Json scalar(const Value& value) {
  if (value.quoted) return value.text;
  if (value.text == "true" || value.text == "false") return value.text == "true";
  if (const auto number = numberIn<std::uint64_t>(value.text)) return *number;
  if (const auto number = numberIn<std::int64_t>(value.text)) return *number;
  if (const auto number = numberIn<double>(value.text)) return *number;
  return value.text;
}

}  // namespace

Result<ValuePtr> valueFromJson(std::string_view text) {
  Builder builder;
  if (json::sax_parse(text, &builder)) return builder.result();
  return Error{"the body is not JSON that weir takes: " + builder.fault()};
}

Json jsonOf(const Value& value) {
  switch (value.kind) {
    case Value::Kind::null:
      return nullptr;
    case Value::Kind::scalar:
      return scalar(value);
    case Value::Kind::sequence: {
      Json list = Json::array();
      for (const ValuePtr& item : value.items) list.push_back(jsonOf(*item));
      return list;
    }
    case Value::Kind::mapping: {
      Json object = Json::object();
      for (const Value::Entry& entry : value.entries) object[entry.key] = jsonOf(*entry.value);
      return object;
    }
  }
  return nullptr;
}

std::string dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace weir::manager
