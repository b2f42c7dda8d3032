// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/health/http2_stream.h"

#include <fmt/format.h>
#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>

#include "manager/health/answer.h"

namespace weir::manager {

namespace {

constexpr std::string_view kVersion = "HTTP/1.";

std::string_view viewOf(const std::uint8_t* data, std::size_t length) noexcept {
  return {reinterpret_cast<const char*>(data), length};
}

std::uint8_t* bytesOf(std::string_view text) noexcept {
  // nghttp2 takes fields as not const, and does not write to them.
  return const_cast<std::uint8_t*>(reinterpret_cast<const std::uint8_t*>(text.data()));
}

}  // namespace

struct Http2Stream::Impl {
  Impl(Request asked, Listener& hears) : request(std::move(asked)), listener(hears) { open(); }
  ~Impl() { nghttp2_session_del(session); }

  void open() {
    nghttp2_session_callbacks* callbacks = nullptr;
    nghttp2_session_callbacks_new(&callbacks);
    nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, &Impl::onBeginHeaders);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, &Impl::onHeader);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, &Impl::onFrame);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, &Impl::onData);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, &Impl::onClose);
    nghttp2_session_callbacks_set_error_callback2(callbacks, &Impl::onError);
    nghttp2_option* options = nullptr;
    nghttp2_option_new(&options);
    // Without updates the peer can send one window of body, 65,535 bytes, and no more.
    nghttp2_option_set_no_auto_window_update(options, 1);
    nghttp2_session_client_new2(&session, callbacks, this, options);
    nghttp2_option_del(options);
    nghttp2_session_callbacks_del(callbacks);

    const std::array<nghttp2_settings_entry, 2> ours{
        {{NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
         {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, Http2Stream::kLongestHeaders}}};
    nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, ours.data(), ours.size());
    submit();
  }

  void submit() {
    std::vector<nghttp2_nv> fields;
    for (const auto& [name, value] : request.fields)
      fields.push_back(
          {bytesOf(name), bytesOf(value), name.size(), value.size(), NGHTTP2_NV_FLAG_NONE});
    nghttp2_data_provider body{};
    body.source.ptr = this;
    body.read_callback = &Impl::onReadBody;
    nghttp2_submit_request(session, nullptr, fields.data(), fields.size(),
                           request.body ? &body : nullptr, nullptr);
  }

  static ssize_t onReadBody(nghttp2_session*, std::int32_t, std::uint8_t* out, std::size_t size,
                            std::uint32_t* flags, nghttp2_data_source* source, void*) {
    std::string& body = *static_cast<Impl*>(source->ptr)->request.body;
    const std::size_t n = std::min(size, body.size());
    std::memcpy(out, body.data(), n);
    body.erase(0, n);
    if (body.empty()) *flags |= NGHTTP2_DATA_FLAG_EOF;
    return static_cast<ssize_t>(n);
  }

  static int onBeginHeaders(nghttp2_session*, const nghttp2_frame*, void* user) {
    auto* self = static_cast<Impl*>(user);
    if (!self->final) self->block.clear();
    return 0;
  }

  static int onHeader(nghttp2_session*, const nghttp2_frame*, const std::uint8_t* name,
                      std::size_t nameLength, const std::uint8_t* value, std::size_t valueLength,
                      std::uint8_t, void* user) {
    auto* self = static_cast<Impl*>(user);
    self->headerBytes += nameLength + valueLength;
    if (self->headerBytes > kLongestHeaders) {
      self->failure = fmt::format("headers of more than {} bytes", kLongestHeaders);
      return NGHTTP2_ERR_CALLBACK_FAILURE;
    }
    const std::string_view key = viewOf(name, nameLength), text = viewOf(value, valueLength);
    if (key == ":status")
      std::from_chars(text.data(), text.data() + text.size(), self->status);
    else if (self->final)
      self->listener.field(key, text);
    else
      self->block.emplace_back(key, text);
    return 0;
  }

  static int onFrame(nghttp2_session*, const nghttp2_frame* frame, void* user) {
    auto* self = static_cast<Impl*>(user);
    switch (frame->hd.type) {
      case NGHTTP2_DATA:
        self->ended = self->ended || (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
        break;
      case NGHTTP2_HEADERS:
        self->ended = self->ended || (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
        self->endBlock();
        break;
      case NGHTTP2_SETTINGS:
        self->settingsCame = true;
        break;
      case NGHTTP2_RST_STREAM:
        self->reset = true;
        break;
      case NGHTTP2_GOAWAY:
        self->goaway = frame->goaway.error_code;
        break;
      default:  // nghttp2's, of which the others need no action
        break;
    }
    return 0;
  }

  // A block of headers is complete: an interim answer is forgotten, the final one is told.
  void endBlock() {
    if (final || status < 200) return;
    final = true;
    for (const auto& [name, value] : block) listener.field(name, value);
    block.clear();
    listener.headersEnd(status);
  }

  static int onData(nghttp2_session*, std::uint8_t, std::int32_t, const std::uint8_t* data,
                    std::size_t length, void* user) {
    static_cast<Impl*>(user)->listener.data(viewOf(data, length));
    return 0;
  }

  static int onClose(nghttp2_session*, std::int32_t, std::uint32_t error, void* user) {
    auto* self = static_cast<Impl*>(user);
    // A server may reset a stream without an error, but only what it has ended is complete.
    if (error == NGHTTP2_NO_ERROR && self->final && self->ended) {
      self->complete = true;
      return 0;
    }
    const char* const name = nghttp2_http2_strerror(error);
    if (self->reset)
      self->failure = error == NGHTTP2_NO_ERROR
                          ? "the server reset the stream before its answer was complete"
                          : fmt::format("the server reset the stream, {}", name);
    else if (self->goaway)
      self->failure = fmt::format("the server refused the request with GOAWAY, {}",
                                  nghttp2_http2_strerror(*self->goaway));
    else  // nghttp2 did, since a rule was broken
      self->failure = self->protocolError.empty() ? fmt::format("broken HTTP/2: {}", name)
                                                  : self->protocolError;
    return 0;
  }

  static int onError(nghttp2_session*, int, const char* message, std::size_t length, void* user) {
    auto* self = static_cast<Impl*>(user);
    if (self->protocolError.empty())
      self->protocolError = fmt::format("broken HTTP/2: {}", quotable({message, length}));
    return 0;
  }

  std::string receive(std::string_view bytes) {
    if (beginning.size() < kVersion.size())
      beginning.append(bytes.substr(0, kVersion.size() - beginning.size()));
    const ssize_t n = nghttp2_session_mem_recv(session, bytesOf(bytes), bytes.size());
    if (complete) return {};  // whatever came after it
    if (!failure.empty()) return failure;
    if (n < 0) return fmt::format("broken HTTP/2: {}", nghttp2_strerror(static_cast<int>(n)));
    // nghttp2 answers a broken rule of the connection with a GOAWAY of its own, and reads no more.
    flush();
    if (!failure.empty()) return failure;
    if (nghttp2_session_want_read(session) != 0) return {};
    if (!settingsCame)
      return beginning == kVersion ? "the server speaks HTTP/1, not HTTP/2"
                                   : "the answer is not HTTP/2";
    if (!protocolError.empty()) return protocolError;
    if (goaway)
      return fmt::format("the server ended the connection with GOAWAY, {}",
                         nghttp2_http2_strerror(*goaway));
    return "broken HTTP/2";
  }

  void flush() {
    while (true) {
      const std::uint8_t* data = nullptr;
      const ssize_t n = nghttp2_session_mem_send(session, &data);
      if (n <= 0) return;
      output.append(viewOf(data, static_cast<std::size_t>(n)));
    }
  }

  Request request;
  Listener& listener;
  nghttp2_session* session = nullptr;
  std::string output;
  std::vector<std::pair<std::string, std::string>> block;  // headers, final or not
  std::size_t headerBytes = 0;
  int status = 0;
  bool final = false;  // the final answer's headers are complete
  bool complete = false;
  bool ended = false;         // by the server, with END_STREAM
  bool reset = false;         // by the server
  bool settingsCame = false;  // the server's, as they must first of all
  std::string beginning;      // of what came, to tell HTTP/1 from garbage
  std::optional<std::uint32_t> goaway;
  std::string failure;
  std::string protocolError;
};

Http2Stream::Http2Stream(Request request, Listener& listener)
    : impl_(std::make_unique<Impl>(std::move(request), listener)) {}
Http2Stream::~Http2Stream() = default;

std::string Http2Stream::takeOutput() {
  impl_->flush();
  return std::exchange(impl_->output, {});
}

std::string Http2Stream::receive(std::string_view bytes) { return impl_->receive(bytes); }
bool Http2Stream::isComplete() const noexcept { return impl_->complete; }

}  // namespace weir::manager
