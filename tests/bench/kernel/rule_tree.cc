// SPDX-License-Identifier: GPL-2.0-or-later
//
// weir_bench_rule_tree FIRST COUNT
// Lays rules, routes and neighbours for COUNT backends from the address FIRST on, as the manager
// does, with marks 1 to COUNT; prints the seconds that took and that a comparison takes, and
// removes everything on SIGTERM.
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "base/signals.h"
#include "manager/kernel/netlink_kernel_state.h"

int main(int argc, char** argv) {
  using namespace weir;
  const auto first = argc == 3 ? Address::parse(argv[1]) : std::nullopt;
  const std::uint32_t count =
      argc == 3 ? static_cast<std::uint32_t>(std::strtoul(argv[2], nullptr, 10)) : 0;
  if (!first || !first->isIpv4() || count == 0)
    return std::fprintf(stderr, "usage: %s FIRST_IPV4_ADDRESS COUNT\n", argv[0]), 2;
  auto signals = Signals::block({SIGTERM, SIGINT});
  auto state = manager::NetlinkKernelState::open();
  if (!signals || !state) return std::fputs("cannot start: needs root\n", stderr), 1;

  manager::KernelWish wish;
  wish.fwmarkMask = 0x0000ffff;
  for (std::uint32_t i = 0; i < count; ++i)
    wish.backends.push_back({Mark(i + 1), Address::ipv4(first->ipv4Bits() + i), std::nullopt});
  const auto seconds = [](const auto& work) {
    const auto begin = std::chrono::steady_clock::now();
    const bool good = work();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    return good ? took.count() : -1.0;
  };
  const double applied =
      seconds([&] { return (*state)->apply(wish, manager::KernelState::Prune::removeOld).ok(); });
  const double compared = seconds([&] { return (*state)->reconcile().ok(); });
  std::printf("%.4f %.4f\n", applied, compared);
  std::fflush(stdout);
  while (!signals->next()) {
    struct timespec rest {
      0, 50'000'000
    };
    ::nanosleep(&rest, nullptr);
  }
  return (*state)->removeAll().ok() ? 0 : 1;
}
