// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/health/curl_loop.h"

#include <curl/curl.h>

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <unordered_map>

namespace weir::manager {

namespace asio = boost::asio;
using asio::posix::stream_descriptor;
using boost::system::error_code;

// Handlers hold it weakly: it may be gone when they run.
struct CurlLoop::Impl : std::enable_shared_from_this<CurlLoop::Impl> {
  // A socket that libcurl wants to hear about. The descriptor is libcurl's: released, not closed.
  struct Watch {
    explicit Watch(asio::io_context& io, int fd) : descriptor(io, fd) {}
    ~Watch() { descriptor.release(); }
    stream_descriptor descriptor;
    bool wantRead = false, wantWrite = false;
    bool reading = false, writing = false;  // a wait is under way
  };

  explicit Impl(asio::io_context& context) : io(context), timer(context) {}

  ~Impl() {
    for (const auto& [easy, done] : transfers) curl_multi_remove_handle(multi, easy);
    curl_multi_cleanup(multi);
  }

  void start() {
    curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, &Impl::onSocket);
    curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, this);
    curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, &Impl::onTimer);
    curl_multi_setopt(multi, CURLMOPT_TIMERDATA, this);
  }

  static int onSocket(CURL*, curl_socket_t fd, int what, void* user, void*) {
    auto* self = static_cast<Impl*>(user);
    if (what == CURL_POLL_REMOVE) {
      self->watches.erase(fd);
      return 0;
    }
    auto& watch = self->watches[fd];
    if (!watch) watch = std::make_shared<Watch>(self->io, fd);
    watch->wantRead = (what & CURL_POLL_IN) != 0;
    watch->wantWrite = (what & CURL_POLL_OUT) != 0;
    self->arm(fd, watch);
    return 0;
  }

  static int onTimer(CURLM*, long milliseconds, void* user) {
    auto* self = static_cast<Impl*>(user);
    if (milliseconds < 0) {
      self->timer.cancel();
      return 0;
    }
    self->timer.expires_after(std::chrono::milliseconds(milliseconds));
    self->timer.async_wait([weak = self->weak_from_this()](const error_code& error) {
      const auto impl = weak.lock();
      if (error || !impl) return;
      impl->act(CURL_SOCKET_TIMEOUT, 0);
    });
    return 0;
  }

  void arm(int fd, const std::shared_ptr<Watch>& watch) {
    if (watch->wantRead && !watch->reading) wait(fd, watch, stream_descriptor::wait_read);
    if (watch->wantWrite && !watch->writing) wait(fd, watch, stream_descriptor::wait_write);
  }

  void wait(int fd, const std::shared_ptr<Watch>& watch, stream_descriptor::wait_type type) {
    const bool read = type == stream_descriptor::wait_read;
    (read ? watch->reading : watch->writing) = true;
    watch->descriptor.async_wait(
        type, [weak = weak_from_this(), weakWatch = std::weak_ptr<Watch>(watch), fd,
               read](const error_code& error) {
          const auto impl = weak.lock();
          const auto watched = weakWatch.lock();
          if (!impl || !watched) return;
          (read ? watched->reading : watched->writing) = false;
          if (error) return;
          if (read ? watched->wantRead : watched->wantWrite)
            impl->act(fd, read ? CURL_CSELECT_IN : CURL_CSELECT_OUT);
          // libcurl may have closed this socket, or opened another one of the same number.
          if (const auto found = impl->watches.find(fd);
              found != impl->watches.end() && found->second == watched)
            impl->arm(fd, watched);
        });
  }

  void act(curl_socket_t fd, int events) {
    int running = 0;
    curl_multi_socket_action(multi, fd, events, &running);
    collect();
  }

  void collect() {
    int left = 0;
    while (const CURLMsg* message = curl_multi_info_read(multi, &left)) {
      if (message->msg != CURLMSG_DONE) continue;
      CURL* easy = message->easy_handle;
      const int result = message->data.result;
      const auto found = transfers.find(easy);
      const auto done = std::move(found->second);
      transfers.erase(found);
      curl_multi_remove_handle(multi, easy);
      done(result);
    }
  }

  asio::io_context& io;
  asio::steady_timer timer;
  CURLM* multi = curl_multi_init();
  std::unordered_map<int, std::shared_ptr<Watch>> watches;
  std::unordered_map<CURL*, std::function<void(int)>> transfers;
};

CurlLoop::CurlLoop(asio::io_context& io) : impl_(std::make_shared<Impl>(io)) { impl_->start(); }
CurlLoop::~CurlLoop() = default;

void CurlLoop::add(CURL* easy, std::function<void(int)> done) {
  impl_->transfers.emplace(easy, std::move(done));
  curl_multi_add_handle(impl_->multi, easy);
}

void CurlLoop::remove(CURL* easy) noexcept {
  if (impl_->transfers.erase(easy) != 0) curl_multi_remove_handle(impl_->multi, easy);
}

}  // namespace weir::manager
