// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/client.h"

#include <curl/curl.h>
#include <fmt/format.h>

#include <memory>

namespace weir::cli {

namespace {

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

// Calls `waiting` when the answer takes long; curl asks about once a second.
struct Patience {
  std::chrono::steady_clock::time_point since = std::chrono::steady_clock::now();
  std::function<void()> waiting;
};

int progress(void* clientData, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  auto& patience = *static_cast<Patience*>(clientData);
  if (patience.waiting && std::chrono::steady_clock::now() - patience.since >= Client::kQuiet)
    std::exchange(patience.waiting, nullptr)();
  return 0;
}

std::string urlOf(const Client::Request& request) {
  std::string url = "http://weir";
  for (const auto& segment : request.path) url += "/" + escaped(segment);
  char separator = '?';
  for (const auto& [key, value] : request.query) {
    url += fmt::format("{}{}={}", separator, escaped(key), escaped(value));
    separator = '&';
  }
  return url;
}

std::string absence(const std::filesystem::path& socket, CURLcode code, long systemError,
                    std::chrono::seconds timeout) {
  if (code == CURLE_COULDNT_CONNECT && systemError == EACCES)
    return fmt::format("no permission to use {}; be root or a member of the group weir",
                       socket.string());
  if (code == CURLE_COULDNT_CONNECT)
    return fmt::format("weir-manager does not answer at {}; is it running (systemctl status weir)?",
                       socket.string());
  if (code == CURLE_OPERATION_TIMEDOUT)
    return fmt::format(
        "weir-manager did not answer within {} s at {}; it runs but hangs or is busy: see "
        "journalctl -u weir, or wait longer with --timeout",
        timeout.count(), socket.string());
  return fmt::format("weir-manager does not answer at {}: {}", socket.string(),
                     curl_easy_strerror(code));
}

}  // namespace

Result<Client::Answer> Client::exchange(const Request& request) const {
  const std::unique_ptr<CURL, CurlFree> easy(curl_easy_init());
  const std::unique_ptr<curl_slist, CurlFree> headers(
      curl_slist_append(nullptr, ("Content-Type: " + request.contentType).c_str()));
  const std::string url = urlOf(request);
  Answer answer;
  Patience patience{.waiting = waiting_};
  const auto option = [&](CURLoption name, auto value) {
    curl_easy_setopt(easy.get(), name, value);
  };
  option(CURLOPT_UNIX_SOCKET_PATH, socket_.c_str());
  option(CURLOPT_URL, url.c_str());
  option(CURLOPT_PROXY, "");
  option(CURLOPT_TIMEOUT_MS, static_cast<long>(std::chrono::milliseconds(timeout_).count()));
  option(CURLOPT_NOSIGNAL, 1L);
  option(CURLOPT_WRITEFUNCTION, &collect);
  option(CURLOPT_WRITEDATA, &answer.body);
  option(CURLOPT_NOPROGRESS, 0L);
  option(CURLOPT_XFERINFOFUNCTION, &progress);
  option(CURLOPT_XFERINFODATA, &patience);
  option(CURLOPT_CUSTOMREQUEST, request.method.c_str());
  if (request.method != "GET" && request.method != "DELETE") {
    // The body goes out at once, whatever its size: no "Expect: 100-continue".
    curl_slist_append(headers.get(), "Expect:");
    option(CURLOPT_HTTPHEADER, headers.get());
    option(CURLOPT_POSTFIELDS, request.body.c_str());
    option(CURLOPT_POSTFIELDSIZE, static_cast<long>(request.body.size()));
  }
  const CURLcode code = curl_easy_perform(easy.get());
  if (code != CURLE_OK) {
    long systemError = 0;
    curl_easy_getinfo(easy.get(), CURLINFO_OS_ERRNO, &systemError);
    return Error{absence(socket_, code, systemError, timeout_)};
  }
  curl_easy_getinfo(easy.get(), CURLINFO_RESPONSE_CODE, &answer.status);
  return answer;
}

}  // namespace weir::cli
