// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/client.h"

#include <curl/curl.h>
#include <fmt/format.h>

#include <memory>

namespace weir::cli {

namespace {

// A flush of a full table takes the engine a while; the manager itself gives up earlier.
constexpr long kTimeoutSec = 30;

struct CurlFree {
  void operator()(CURL* easy) const { curl_easy_cleanup(easy); }
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};

// RFC 3986, 2.3: what needs no escape.
std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '.' || c == '_' || c == '~';
    out += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}

std::size_t collect(char* data, std::size_t, std::size_t size, void* body) {
  static_cast<std::string*>(body)->append(data, size);
  return size;
}

std::string urlOf(const Client::Path& path, const Client::Query& query) {
  std::string url = "http://weir";
  for (const auto& segment : path) url += "/" + escaped(segment);
  char separator = '?';
  for (const auto& [key, value] : query) {
    url += fmt::format("{}{}={}", separator, escaped(key), escaped(value));
    separator = '&';
  }
  return url;
}

std::string absence(const std::filesystem::path& socket, CURLcode code, long systemError) {
  if (code == CURLE_COULDNT_CONNECT && systemError == EACCES)
    return fmt::format("no permission to use {}; be root or a member of the group weir",
                       socket.string());
  if (code == CURLE_COULDNT_CONNECT)
    return fmt::format("weir-manager does not answer at {}; is it running (systemctl status weir)?",
                       socket.string());
  return fmt::format("weir-manager does not answer at {}: {}", socket.string(),
                     curl_easy_strerror(code));
}

}  // namespace

Result<Client::Answer> Client::get(const Path& path, const Query& query) const {
  return exchange(path, query, nullptr);
}

Result<Client::Answer> Client::post(const Path& path, const std::string& body) const {
  return exchange(path, {}, &body);
}

Result<Client::Answer> Client::exchange(const Path& path, const Query& query,
                                        const std::string* body) const {
  const std::unique_ptr<CURL, CurlFree> easy(curl_easy_init());
  const std::unique_ptr<curl_slist, CurlFree> headers(
      curl_slist_append(nullptr, "Content-Type: application/json"));
  const std::string url = urlOf(path, query);
  Answer answer;
  const auto option = [&](CURLoption name, auto value) {
    curl_easy_setopt(easy.get(), name, value);
  };
  option(CURLOPT_UNIX_SOCKET_PATH, socket_.c_str());
  option(CURLOPT_URL, url.c_str());
  option(CURLOPT_PROXY, "");
  option(CURLOPT_TIMEOUT, kTimeoutSec);
  option(CURLOPT_NOSIGNAL, 1L);
  option(CURLOPT_WRITEFUNCTION, &collect);
  option(CURLOPT_WRITEDATA, &answer.body);
  if (body) {
    option(CURLOPT_HTTPHEADER, headers.get());
    option(CURLOPT_POSTFIELDS, body->c_str());
    option(CURLOPT_POSTFIELDSIZE, static_cast<long>(body->size()));
  }
  const CURLcode code = curl_easy_perform(easy.get());
  if (code != CURLE_OK) {
    long systemError = 0;
    curl_easy_getinfo(easy.get(), CURLINFO_OS_ERRNO, &systemError);
    return Error{absence(socket_, code, systemError)};
  }
  curl_easy_getinfo(easy.get(), CURLINFO_RESPONSE_CODE, &answer.status);
  return answer;
}

}  // namespace weir::cli
