// SPDX-License-Identifier: GPL-2.0-or-later
//
// A manager over a kernel in memory and a configuration directory, asked as the API is asked.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <fstream>
#include <nlohmann/json.hpp>

#include "manager/api/api.h"
#include "manager/kernel/fake_kernel_state.h"
#include "manager/manager.h"
#include "support/temporary_directory.h"

namespace weir::manager {

class EditedManager : public testing::Test {
 protected:
  using Json = nlohmann::ordered_json;

  EditedManager() {
    std::filesystem::create_directory(config_.path() / "conf.d");
    std::ofstream(config_.path() / "weir.yaml") << "location: {region: r1, zone: za}\n"
                                                   "zones: [{name: za, region: r1}]\n";
  }
  ~EditedManager() override {
    if (started_) manager_.stop();
  }

  void put(const std::string& file, const std::string& text) const {
    std::ofstream(config_.path() / file) << text;
  }
  std::string read(const std::string& file) const {
    std::ifstream stream(config_.path() / file);
    return {std::istreambuf_iterator<char>(stream), {}};
  }

  void start() {
    const config::Loaded loaded = config::loadDirectory(config_.path());
    ASSERT_TRUE(loaded.ok()) << loaded.diagnostics.at(0).toString();
    const Status started = manager_.start(loaded.configuration, loaded.definitions);
    ASSERT_TRUE(started.ok()) << started.error().message;
    started_ = true;
  }

  HttpResponse ask(const std::string& method, const std::string& target,
                   const std::string& body = "", const std::string& type = "application/json",
                   Access access = Access::full) {
    if (!started_) start();
    const auto parsed = parseTarget(target);
    std::optional<HttpResponse> response;
    HttpRequest request{method, parsed->path, parsed->query, body, type, access};
    handler_(std::move(request), [&](HttpResponse r) { response = std::move(r); });
    while (!response && io_.run_one() != 0) continue;
    if (response) return *response;
    ADD_FAILURE() << "no answer to " << method << " " << target;
    return {};
  }
  // The answer's JSON, with this status.
  Json expect(unsigned status, const std::string& method, const std::string& target,
              const std::string& body = "", const std::string& type = "application/json") {
    const HttpResponse response = ask(method, target, body, type);
    EXPECT_EQ(response.status, status) << method << " " << target << " " << response.body;
    return Json::parse(response.body, nullptr, false);
  }
  static std::string message(const Json& answer) {
    return answer.value("/error/message"_json_pointer, std::string());
  }

  test::TemporaryDirectory config_, run_, state_;
  boost::asio::io_context io_;
  FakeKernelState kernel_;
  Manager manager_{io_,
                   kernel_,
                   run_.path(),
                   [this] { return config::loadDirectory(config_.path()); },
                   config_.path(),
                   state_.path()};
  HttpHandler handler_ = apiHandler(manager_);
  bool started_ = false;
};

}  // namespace weir::manager
