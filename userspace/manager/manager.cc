// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/manager.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/given_marks.h"
#include "base/log.h"
#include "manager/announced.h"
#include "manager/clock.h"
#include "manager/health/probe_targets.h"
#include "manager/kernel_wish.h"
#include "manager/route_check.h"

namespace weir::manager {

namespace {

constexpr std::string_view kEngine = "weir-engine";
constexpr std::chrono::seconds kRoundTripInterval{10};

NodeSnapshot nodeSnapshot(const Node& node) {
  NodeSnapshot snapshot;
  snapshot.queueBase = node.queueBase;
  snapshot.queues = static_cast<std::uint16_t>(node.queues);
  snapshot.ipv4Entries = node.trackedIpv4;
  snapshot.ipv6Entries = node.trackedIpv6;
  snapshot.fwmarkMask = node.fwmarkMask;
  snapshot.flowCache = node.flowCache;
  return snapshot;
}

void append(std::vector<SnapshotMessage>& messages, Changes changes) {
  for (auto& service : changes.services) messages.emplace_back(std::move(service));
  if (changes.rules) messages.emplace_back(std::move(*changes.rules));
  for (const ServiceId id : changes.removed) messages.emplace_back(ServiceRemoved{id});
}

}  // namespace

Manager::Manager(boost::asio::io_context& io, KernelState& kernel, std::filesystem::path runDir,
                 Load load, std::filesystem::path configDir, std::filesystem::path stateDir)
    : kernel_(kernel),
      runDir_(std::move(runDir)),
      marks_(runDir_ / kGivenMarksName),
      load_(std::move(load)),
      configDir_(std::move(configDir)),
      stateDir_(std::move(stateDir)),
      dataPlanes_(io, [this] { return everything(); }),
      publisher_(
          io, kernel,
          {[this](std::span<const SnapshotMessage> messages) { dataPlanes_.broadcast(messages); },
           [this](Generation generation) { return dataPlanes_.confirmed(generation); }}),
      health_(
          io,
          [this](const EndpointRef& ref, const std::string& service) {
            return controlPlane_.health(ref, service).value_or(Health::unknown);
          },
          [this](HealthMonitor::Report report) { hear(std::move(report)); }),
      state_(io, runDir_ / "manager.state", [this] { return stateText(); }),
      engineWatch_(
          io,
          [this] {
            const Configuration& configuration = controlPlane_.configuration();
            const Node& node = configuration.node;
            return EngineWatch::Settings{
                node.queueBase, needsEngine(configuration) ? node.queues : 0, node.engineGrace};
          },
          [this] { return engine(); }, [this] { fallbackChanged(); }),
      deadline_(io),
      reconcile_(io),
      roundTrips_(io),
      kernelWatch_(io, kernel, [this] { reconcileKernel(); }),
      startedAt_(now()) {}

Manager::~Manager() = default;

Status Manager::start(Configuration configuration, std::vector<config::Definition> definitions) {
  if (Status fits = checkRoutes(kernel_, configuration, definitions); !fits) return fits;
  if (Status begun = begin(std::move(configuration)); !begun) return begun;
  lastReload_ = "loaded at start";
  define(std::move(definitions));
  return success();
}

Status Manager::startWithKept(Configuration configuration, config::Kept kept) {
  if (Status fits = checkRoutes(kernel_, configuration, {}); !fits) return fits;
  if (Status begun = begin(std::move(configuration)); !begun) return begun;
  // Not define(): of what is lost nothing is known but this.
  origins_ = std::move(kept.origins);
  lastReload_ = "of the last run, since its directory is lost";
  return success();
}

Status Manager::begin(Configuration configuration) {
  // The socket first: what may fail comes before the kernel is touched.
  if (Status status = dataPlanes_.listen(runDir_ / "snapshots.sock"); !status.ok()) return status;
  restore();
  engineWatch_.start(hostState_.fallback);
  auto changes = applyConfiguration(std::move(configuration));
  if (!changes.ok()) return changes.error();
  dataPlanes_.onProgress([this] { publisher_.progressed(); });
  logRules(controlPlane_.everything());
  // Not only what changed: everything is new to the kernel and the data planes.
  carryOut({}, everything());
  armReconcile();
  armRoundTrips();
  kernelWatch_.start();
  return success();
}

void Manager::restore() {
  const auto text = state_.read();
  Status status = success();
  if (!text.ok())
    status = text.error();
  else if (text.value()) {
    hostState_ = hostStateIn(**text);
    status = controlPlane_.restore(**text);
    if (const auto proxy = proxyStateIn(**text); proxy && status.ok())
      status = proxyPlane_.restore(*proxy);
  }
  kernel_.rememberSysctls(hostState_.sysctls, [this](const KernelState::Sysctls& former) {
    hostState_.sysctls = former;
    state_.changed();
    state_.flush();
  });
  if (!status.ok())
    log::warning("the state of the manager's last run is not usable; starting afresh",
                 {{"REASON", status.error().message}});
}

void Manager::fallSilent() {
  deadline_.cancel();
  reconcile_.cancel();
  roundTrips_.cancel();
  engineWatch_.stop();
  kernelWatch_.stop();
  health_.setTargets({});
  dataPlanes_.stop();
}

void Manager::leave() {
  fallSilent();
  state_.changed();
  state_.flush();
}

void Manager::stop() {
  fallSilent();
  hostState_.fallback = false;
  state_.changed();
  state_.flush();
  if (const Status status = publisher_.withdraw(); !status.ok())
    log::error("weir's state is still in the kernel", {{"REASON", status.error().message}});
}

std::string Manager::stateText() const {
  return withHostState(controlPlane_.save(), proxyPlane_.save(), hostState_);
}

Result<Manager::Decided> Manager::applyConfiguration(Configuration configuration) {
  const Time present = now();
  auto changes = controlPlane_.apply(std::move(configuration), present);
  if (!changes.ok()) return changes.error();
  return Decided{std::move(*changes), proxyPlane_.apply(controlPlane_.configuration(), present)};
}

void Manager::onConfiguration(std::function<void(const Configuration&)> callback) {
  onConfiguration_ = std::move(callback);
}

Result<Manager::Decided> Manager::decided(Result<Changes> changes) {
  if (!changes.ok()) return changes.error();
  return Decided{std::move(*changes), {}};
}

Result<Manager::Decided> Manager::decided(Result<ProxyChanges> changes) {
  if (!changes.ok()) return changes.error();
  return Decided{{}, std::move(*changes)};
}

bool Manager::isManaged(std::string_view service) const {
  const auto& services = controlPlane_.configuration().services;
  return std::ranges::any_of(services, [&](const BackendService& candidate) {
    return candidate.name == service && candidate.isManaged();
  });
}

Status Manager::drain(std::string_view service, std::string_view endpoint,
                      std::optional<std::chrono::seconds> timeout) {
  return drained(isManaged(service)
                     ? decided(proxyPlane_.drain(service, endpoint, timeout, now()))
                     : decided(controlPlane_.drain(service, endpoint, timeout, now())),
                 "draining", service, endpoint);
}

Status Manager::undrain(std::string_view service, std::string_view endpoint) {
  return drained(isManaged(service) ? decided(proxyPlane_.undrain(service, endpoint, now()))
                                    : decided(controlPlane_.undrain(service, endpoint, now())),
                 "no longer draining", service, endpoint);
}

Status Manager::drained(Result<Decided> changes, std::string_view message, std::string_view service,
                        std::string_view endpoint) {
  if (!changes.ok()) return changes.error();
  log::info(message, {{"SERVICE", std::string(service)}, {"BACKEND", std::string(endpoint)}});
  carryOut(std::move(*changes));
  return success();
}

void Manager::hear(HealthMonitor::Report report) {
  const Time present = now();
  const auto take = [&](Result<Changes> changes, ProxyChanges proxy) {
    if (!changes.ok())
      log::error("a probe's result was refused", {{"REASON", changes.error().message}});
    carryOut({changes.ok() ? std::move(*changes) : Changes{}, std::move(proxy)});
  };
  if (!report.health.empty())
    take(controlPlane_.setHealth(report.health, present),
         proxyPlane_.setHealth(report.health, present));
  if (!report.weights.empty())
    take(controlPlane_.setWeight(report.weights, present),
         proxyPlane_.setWeight(report.weights, present));
  if (report.utilizations.empty()) return;
  std::vector<ProxyPlane::UtilizationUpdate> utilizations;
  for (const auto& [endpoint, reading] : report.utilizations)
    utilizations.push_back({endpoint, reading.value, reading.at});
  // Reports of load are no decisions: nothing else follows from them, and they are many.
  // The kernel has no part in them.
  publisher_.publish(messagesOf(proxyPlane_.setUtilization(utilizations, present)));
}

// S1: distances follow what the probes measured; slowly, so that now and then is often enough.
void Manager::armRoundTrips() {
  roundTrips_.expires_after(kRoundTripInterval);
  roundTrips_.async_wait([this](const boost::system::error_code& cancelled) {
    if (cancelled) return;
    std::vector<ProxyPlane::RoundTripUpdate> measured;
    for (const auto& group : controlPlane_.configuration().groups)
      for (const auto& endpoint : group.endpoints) {
        const EndpointRef ref{group.name, endpoint.identity()};
        if (const auto roundTrip = health_.roundTrip(ref)) measured.push_back({ref, *roundTrip});
      }
    if (auto changes = proxyPlane_.setRoundTrips(measured, now()); !changes.empty())
      carryOut({{}, std::move(changes)});
    armRoundTrips();
  });
}

void Manager::carryOut(Decided decided, std::vector<SnapshotMessage> before) {
  logRules(decided.passthrough);
  append(before, std::move(decided.passthrough));
  std::ranges::move(messagesOf(std::move(decided.proxy)), std::back_inserter(before));
  state_.changed();
  // Written before it is sent: a generation that a data plane has seen is never given out again,
  // not even when the manager is killed in the next moment.
  if (!before.empty()) state_.flush();
  KernelWish wanted = wish();
  marks_.note(wanted, now());
  publisher_.publish(std::move(wanted), std::move(before));
  updateTargets();
  updateUnreachable();
  armDeadline();
}

void Manager::logRules(const Changes& changes) {
  for (const auto& service : changes.services) {
    const std::string& rule = service.eligible.rule;
    std::string& logged = ruleOfService_[service.name];
    if (logged == rule) continue;
    // Others on the links may have been told otherwise meanwhile.
    if (!logged.empty()) kernel_.announceAgain();
    logged = rule;
    const auto view = controlPlane_.view(service.name);
    log::info("eligible backends are chosen by another rule",
              {{"SERVICE", service.name},
               {"RULE", rule},
               {"ELIGIBLE", std::to_string(service.eligible.members.size())},
               {"EXPLANATION", view ? view->eligibility.explanation : std::string()}});
  }
}

void Manager::updateTargets() { health_.setTargets(probeTargets(controlPlane_, proxyPlane_)); }

void Manager::updateUnreachable() {
  HealthMonitor::Unreachable unreachable;
  for (auto& backend : kernel_.unreachable())
    unreachable.emplace(std::pair(backend.mark, backend.family), std::move(backend.reason));
  if (unreachable == unreachable_) return;
  for (const auto& [backend, reason] : unreachable)
    if (unreachable_.find(backend) == unreachable_.end())
      log::warning("a backend's next hop cannot be reached",
                   {{"MARK", fmt::format("{:#x}", backend.first.value())}, {"REASON", reason}});
  for (const auto& [backend, reason] : unreachable_)
    if (unreachable.find(backend) == unreachable.end())
      log::info("a backend's next hop can be reached again",
                {{"MARK", fmt::format("{:#x}", backend.first.value())}});
  unreachable_ = unreachable;
  health_.setUnreachable(std::move(unreachable));
}

void Manager::armDeadline() {
  deadline_.cancel();
  auto next = controlPlane_.nextDeadline();
  if (const auto proxy = proxyPlane_.nextDeadline(); proxy && (!next || *proxy < *next))
    next = proxy;
  if (!next) return;
  const Time present = now();
  deadline_.expires_after(*next > present ? *next - present : Clock::duration(0));
  deadline_.async_wait([this](const boost::system::error_code& cancelled) {
    if (cancelled) return;
    const Time due = now();
    carryOut({controlPlane_.advance(due), proxyPlane_.advance(due)});
  });
}

KernelWish Manager::wish() const {
  KernelWish wish = wishOf(controlPlane_);
  if (engineWatch_.openedAt()) wish.fallback = fallbackWish(controlPlane_);
  return wish;
}

EngineWatch::Engine Manager::engine() const {
  EngineWatch::Engine engine;
  for (const DataPlaneView& plane : dataPlanes_.dataPlanes()) {
    if (plane.program != kEngine) continue;
    engine.connected = true;
    engine.current = plane.applied >= publisher_.generation();
  }
  return engine;
}

void Manager::fallbackChanged() {
  const bool open = engineWatch_.openedAt().has_value();
  if (open)
    log::warning(
        "weir-engine is away: the kernel spreads packets over the eligible backends",
        {{"GRACE_S", std::to_string(controlPlane_.configuration().node.engineGrace.count())}});
  else
    log::warning("weir-engine is back: its decisions hold again");
  hostState_.fallback = open;
  state_.changed();
  state_.flush();
  publisher_.publish(wish(), {});
}

void Manager::armReconcile() {
  reconcile_.expires_after(kReconcileInterval);
  reconcile_.async_wait([this](const boost::system::error_code& cancelled) {
    if (cancelled) return;
    reconcileKernel();
    keepAgain();
    armReconcile();
  });
}

void Manager::reconcileKernel() {
  publisher_.reconcile();
  updateUnreachable();
}

std::vector<SnapshotMessage> Manager::everything() const {
  std::vector<SnapshotMessage> messages;
  messages.emplace_back(nodeSnapshot(controlPlane_.configuration().node));
  messages.emplace_back(SyncBegin{});
  append(messages, controlPlane_.everything());
  std::ranges::move(messagesOf(proxyPlane_.everything()), std::back_inserter(messages));
  messages.emplace_back(SyncEnd{});
  return messages;
}

std::chrono::seconds Manager::uptime() const {
  return std::chrono::duration_cast<std::chrono::seconds>(now() - startedAt_);
}

}  // namespace weir::manager
