// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/files.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/replace_file.h"
#include "cli/answer.h"

namespace weir::cli {

namespace {

// One byte more than allowed is enough to see that it is too much.
std::string readAtMost(std::istream& in) {
  std::string text(config::kMaxFileBytes + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(in.gcount()));
  return text;
}

Error fileError(const std::string& file, std::string_view what) {
  return Error{fmt::format("{}: {}: {}", file, what, std::strerror(errno))};
}

}  // namespace

Result<config::Source> readSource(const Context& context, const std::string& file) {
  const bool isInput = file == "-";
  config::Source source{isInput ? "(input)" : file, {}};
  if (isInput) {
    source.text = readAtMost(context.terminal.in);
  } else {
    errno = 0;
    std::ifstream in(file, std::ios::binary);
    if (!in) return fileError(file, "cannot be read");
    source.text = readAtMost(in);
    if (in.bad()) return fileError(file, "cannot be read");
  }
  if (source.text.size() > config::kMaxFileBytes)
    return Error{fmt::format("{}: is larger than {} MiB; split it", source.name,
                             config::kMaxFileBytes >> 20)};
  return source;
}

Exit writeDocument(const Context& context, const Json& document, const std::string& file) {
  std::ostringstream text;
  printValue(document, context.format, text);
  if (file.empty() || file == "-") {
    context.out() << text.str();
    return Exit::done;
  }
  const Status written = writeOutput(file, text.str());
  return written ? Exit::done : complain(context, written.error().message);
}

}  // namespace weir::cli
