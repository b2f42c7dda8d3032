// SPDX-License-Identifier: GPL-2.0-or-later
#include "proxy/proxy.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/boot_time.h"
#include "base/log.h"
#include "base/notify.h"
#include "proxy/socket_address.h"
#include "proxy/stats.h"

namespace weir::proxy {

namespace {

using std::chrono::milliseconds;

// How often it is looked after what nobody tells of; less often while nothing is under way.
constexpr milliseconds kTick{100};
constexpr milliseconds kQuietTick{400};
// A thread without a turn for so long is stalled, where no watchdog says otherwise.
constexpr milliseconds kStalledAfter{5000};
// A main process that ends before its successor has told systemd that it is the main one now would
// take the service with it.
constexpr milliseconds kUntilSuccessorIsKnown{3000};
constexpr milliseconds kPatienceForNames{3000};
// What cannot be opened: an address that somebody else has will be free, descriptors come back.
constexpr milliseconds kRetry{1000};

std::uint64_t descriptorLimit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return std::numeric_limits<std::uint64_t>::max();
  return limit.rlim_cur;
}

}  // namespace

Proxy::Proxy(DaemonOptions options, Signals signals, InstanceLock lock, HandoverServer handover,
             ListeningSockets inherited)
    : options_(std::move(options)),
      signals_(std::move(signals)),
      lock_(std::move(lock)),
      handover_(std::move(handover)),
      manager_(options_.runDir, "weir-proxy",
               [this](const std::string& reason) {
                 log::warning(isListening() ? "lost the manager; going on with the last snapshot"
                                            : "lost the manager before the first snapshot",
                              {{"REASON", reason}});
                 intake_.interrupt();
                 asked_.clear();
               }),
      kept_(options_.runDir / "proxy.snapshots", {}, bootTime()),
      fronts_(std::move(inherited)),
      started_(bootTime()) {}

Status Proxy::run() {
  notify::ready(statusLine());
  for (;;) {
    Time now = bootTime();
    if (!drainUntil_) manager_.connectIfDue(now);
    if (!drainUntil_ && !intake_.isComplete() &&
        kept_.isDue(KeptSnapshots::managerOf(manager_.isConnected(), intake_), now))
      restore(now);
    if (now >= nextTick_) tick(now);
    if (!asked_.empty()) sendAnswers(now);
    if (resolver_) resolver_->process(now);
    retry(now);
    if (frontsDue_ && mayListen(now)) updateFronts(now);
    if (drainUntil_ && now >= stayUntil_ && (openConnections() == 0 || now >= *drainUntil_))
      return success();

    std::array<pollfd, 4> wait{{{signals_.fd(), POLLIN, 0},
                                manager_.wanted(),
                                {handover_ ? handover_->fd() : -1, POLLIN, 0},
                                {resolver_ ? resolver_->fd() : -1, POLLIN, 0}}};
    Time wake = nextTick_;
    if (const auto attempt = manager_.nextAttempt(); attempt && !drainUntil_)
      wake = std::min(wake, *attempt);
    const auto timeout = std::clamp(wake - now, milliseconds(0), pace());
    ::poll(wait.data(), wait.size(), static_cast<int>(timeout.count()));

    now = bootTime();
    while (const auto signal = signals_.next()) {
      if (drainUntil_) return success();  // told a second time
      stop(*signal, now);
    }
    if (wait[1].revents != 0) hearManager(now);
    if (wait[2].revents != 0 && handover_) handOver();
  }
}

void Proxy::hearManager(Time now) {
  const auto frames = manager_.receive(now);
  std::vector<std::span<const std::uint8_t>> payloads;
  for (const Frame& frame : frames)
    if (frame.type == FrameType::snapshot) payloads.emplace_back(frame.payload);
  if (!payloads.empty()) {
    auto taken = intake_.take(payloads);
    if (!taken.refused.empty() && !std::exchange(toldRefused_, true))
      log::warning("refused a snapshot; what it would have replaced stays in effect",
                   {{"REASON", taken.refused.front()}});
    if (taken.world) use(taken, now);
    for (const ProxyLoadReport& report : taken.reports)
      if (const auto backends = backends_.find(report.service)) backends->report(report, now);
    kept_.keep(intake_, taken, *world_, now);
    if (taken.world || taken.generation != generation_) {
      generation_ = taken.generation;
      manager_.send(appliedFrame(generation_, kept_.notKept()));
    }
  }
  for (const Frame& frame : frames)
    if (frame.type == FrameType::request) answer(frame);
  manager_.flush(now);
}

void Proxy::use(const Intake::Taken& taken, Time now) {
  world_ = taken.world;
  // The balancers first: a thread that has the new world finds all it names.
  backends_.update(world_, now);
  wantNames(now);
  published_.publish(taken.world);
  frontsDue_ = intake_.isComplete();
}

void Proxy::restore(Time now) {
  const auto taken = kept_.restore(intake_, now);
  if (!taken) return;
  generation_ = taken->generation;
  use(*taken, now);
}

// X3.1: names are resolved once for all services, and told to those that have them.
void Proxy::wantNames(Time now) {
  std::map<std::string, std::set<std::string>> wanted;
  std::set<std::string> all;
  for (const auto& [service, snapshot] : world_->services())
    for (const ProxyGroup& group : snapshot->groups)
      for (const ProxyEndpoint& endpoint : group.endpoints)
        if (!endpoint.fqdn.empty()) {
          wanted[service].insert(endpoint.fqdn);
          all.insert(endpoint.fqdn);
        }
  if (all.empty() && resolver_ == nullptr) return;
  if (resolver_ == nullptr) {
    auto opened = Resolver::open([this](const std::string& name, const auto& addresses) {
      for (const auto& [service, names] : namesOfServices_)
        if (names.contains(name))
          if (const auto backends = backends_.find(service)) backends->resolved(name, addresses);
    });
    if (!opened.ok()) {
      if (!std::exchange(toldCannotResolve_, true))
        log::error("cannot resolve names of backends; trying again every second",
                   {{"REASON", opened.error().message}});
      retryAt_ = now + kRetry;
      return;
    }
    resolver_ = std::move(*opened);
  }
  const auto before = std::exchange(namesOfServices_, std::move(wanted));
  for (const auto& [service, names] : namesOfServices_) {
    const auto told = before.find(service);
    for (const std::string& name : names)
      if (told == before.end() || !told->second.contains(name))
        if (const auto* addresses = resolver_->addressesOf(name))
          backends_.find(service)->resolved(name, *addresses);
  }
  resolver_->want(all, world_->node().settings, now);
}

// At the start clients wait in the sockets' queues, or are refused as before, until the names have
// been asked for, so that none finds a backend without an address.
bool Proxy::mayListen(Time now) const {
  return isListening() || resolver_ == nullptr || resolver_->hasTriedAll() ||
         now - started_ > kPatienceForNames;
}

void Proxy::answer(const Frame& request) {
  const std::string_view text(reinterpret_cast<const char*>(request.payload.data()),
                              request.payload.size());
  const auto asked = nlohmann::json::parse(text, nullptr, false);
  const std::string operation =
      asked.is_object() ? asked.value("op", std::string()) : std::string();
  if (operation == "list" || operation == "count" || operation == "flush")
    return askThreads(request, text);
  std::string answer;
  if (operation == "stats")
    answer = stats();
  else if (operation == "explain")
    answer = explainConnection(text, *world_, backends_, bootTime());
  else
    answer = nlohmann::json{{"error", fmt::format("unknown operation '{}'", operation)}}.dump();
  manager_.send(textFrame(FrameType::response, request.request, answer));
}

std::string Proxy::stats() const {
  StatsInput input;
  input.now = bootTime();
  input.uptime = std::chrono::duration_cast<std::chrono::seconds>(input.now - started_);
  input.generation = generation_;
  input.draining = drainUntil_.has_value();
  for (const auto& thread : threads_) input.threads.push_back(&thread->counters());
  input.services = backends_.all();
  input.mostConnections = admission_.most();
  if (resolver_) input.names = resolver_->counts();
  input.openFronts = fronts_.open();
  input.failingFronts = &fronts_.failing();
  return statsJson(input);
}

void Proxy::askThreads(const Frame& request, std::string_view text) {
  auto question = ConnectionsQuestion::parse(text, threads_.size());
  if (!question.ok()) {
    const std::string refusal = nlohmann::json{{"error", question.error().message}}.dump();
    return manager_.send(textFrame(FrameType::response, request.request, refusal));
  }
  for (const auto& thread : threads_) thread->ask(*question);
  asked_.emplace_back(request.request, std::move(*question));
}

// The threads answer within a turn; to look ten times a second is soon enough for a person.
void Proxy::sendAnswers(Time now) {
  const std::size_t before = asked_.size();
  std::erase_if(asked_, [&](const auto& asked) {
    const auto answer = asked.second->answer();
    if (answer) manager_.send(textFrame(FrameType::response, asked.first, *answer));
    return answer.has_value();
  });
  if (asked_.size() != before) manager_.flush(now);
}

Status Proxy::startThreads() {
  unsigned wanted = world_->node().settings.threads;
  if (wanted == 0) wanted = std::max(1u, std::thread::hardware_concurrency());
  admission_.begin(descriptorLimit(), wanted);
  for (unsigned i = 0; i < wanted; ++i) {
    auto thread = ProxyThread::start(i, published_, backends_, admission_);
    if (!thread.ok()) return thread.error();
    threads_.push_back(std::move(*thread));
  }
  log::info("proxying", {{"THREADS", std::to_string(wanted)}});
  return success();
}

void Proxy::updateFronts(Time now) {
  frontsDue_ = false;
  if (drainUntil_) return;
  if (threads_.empty())
    if (const Status started = startThreads(); !started.ok()) {
      if (!std::exchange(toldCannotStart_, true))
        log::error("cannot start; trying again every second",
                   {{"REASON", started.error().message}});
      threads_.clear();
      retryAt_ = now + kRetry;
      return;
    }
  if (!fronts_.update(*world_, threads_)) retryAt_ = now + kRetry;
  admission_.setOthers(otherDescriptors());
}

void Proxy::retry(Time now) {
  if (!retryAt_ || now < *retryAt_) return;
  retryAt_.reset();
  if (resolver_ == nullptr) wantNames(now);
  frontsDue_ = intake_.isComplete();
}

milliseconds Proxy::pace() const {
  const bool isQuiet = asked_.empty() && !drainUntil_ && resolver_ == nullptr;
  return isQuiet ? kQuietTick : kTick;
}

void Proxy::tick(Time now) {
  nextTick_ = now + pace();
  published_.collect();
  if (kept_.tick(manager_.isConnected(), intake_, *world_, now))
    manager_.send(appliedFrame(generation_, kept_.notKept()));
  for (const auto& backends : backends_.all())
    if (auto expired = backends->expired(now); !expired.empty())
      for (const auto& thread : threads_) thread->closeExpired(backends, expired);

  const auto interval = notify::watchdogInterval();
  const auto limit =
      interval ? std::chrono::duration_cast<milliseconds>(*interval) / 2 : kStalledAfter;
  const bool stalled = std::any_of(threads_.begin(), threads_.end(), [&](const auto& thread) {
    return now - thread->heartbeat() > limit;
  });
  if (stalled && !std::exchange(stalled_, true))
    log::error("a thread of the proxy makes no progress");
  if (stalled) return;
  stalled_ = false;
  if (interval && !replaced_) {
    notify::watchdog();
    notify::status(statusLine());
  }
}

void Proxy::handOver() {
  for (const auto& thread : threads_) thread->stopListening();
  if (const Status given = handover_->give(fronts_.all()); !given.ok()) {
    log::error("the listening sockets could not be handed over; going on",
               {{"REASON", given.error().message}});
    fronts_.listenAgain(threads_);
    return;
  }
  log::info("a successor has taken over", {{"CONNECTIONS", std::to_string(openConnections())}});
  kept_.leave();
  const Time now = bootTime();
  beginDraining(now);
  replaced_ = true;
  stayUntil_ = now + kUntilSuccessorIsKnown;
}

// SIGUSR1: another one will be started; clients wait for it in the sockets that systemd keeps.
// Everything else: nothing is to listen from now on.
void Proxy::stop(int signal, Time now) {
  log::info("stopping", {{"SIGNAL", std::to_string(signal)},
                         {"CONNECTIONS", std::to_string(openConnections())}});
  notify::stopping();
  if (signal == SIGUSR1) {
    kept_.leave();
  } else {
    fronts_.forgetStored();
    kept_.remove();
  }
  beginDraining(now);
}

void Proxy::beginDraining(Time now) {
  for (const auto& thread : threads_) thread->stopListening();
  fronts_.close();
  handover_.reset();
  lock_.reset();
  drainUntil_ = now + world_->node().settings.shutdownGrace;
}

// Those that are neither a connection's nor a pipe's: a few of the program's own, some for each
// thread, and the listening sockets.
std::uint64_t Proxy::otherDescriptors() const {
  constexpr std::uint64_t kOwn = 12, kPerThread = 2;
  return kOwn + kPerThread * threads_.size() + fronts_.sockets();
}

std::uint64_t Proxy::openConnections() const {
  std::uint64_t open = 0;
  for (const auto& thread : threads_)
    open += thread->counters().open.load(std::memory_order_relaxed);
  return open;
}

std::string Proxy::statusLine() const {
  if (!isListening()) return "waiting for the manager";
  const std::size_t failing = fronts_.failing().size();
  return fmt::format("{} fronts{}, {} connections, generation {}{}", fronts_.open(),
                     failing == 0 ? "" : fmt::format(" ({} cannot be opened whole)", failing),
                     openConnections(), generation_.value(), kept_.ageInWords(bootTime()));
}

}  // namespace weir::proxy
