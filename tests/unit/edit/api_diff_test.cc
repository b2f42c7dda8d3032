// SPDX-License-Identifier: GPL-2.0-or-later
//
// POST /v1/diff: what a reload would change, and what that would do to traffic.
#include "edited_manager.h"
#include "weir/data_plane.h"

namespace weir::manager {
namespace {

using testing::HasSubstr;

const std::string kWeb =
    "networkEndpointGroups:\n"
    "  - {name: a, zone: za, endpoints: [{ipAddress: 10.2.0.11}, {ipAddress: 10.2.0.12}]}\n"
    "  - {name: b, zone: za, endpoints: [{ipAddress: 10.2.1.11}]}\n"
    "backendServices:\n"
    "  - {name: web, connectionDraining: {drainingTimeoutSec: 300},\n"
    "     backends: [{group: a}, {group: b, failover: true}]}\n"
    "forwardingRules:\n"
    "  - {name: vip, IPAddress: 10.9.9.9, ports: [80], backendService: web}\n";

class ApiDiff : public EditedManager {
 protected:
  ApiDiff() { put("conf.d/web.yaml", kWeb); }

  // What is changed in the file, and the diff that it gives.
  Json after(const std::string& from, const std::string& to) {
    if (!started_) start();
    std::string text = kWeb;
    const std::size_t at = text.find(from);
    EXPECT_NE(at, text.npos);
    text.replace(at, from.size(), to);
    put("conf.d/web.yaml", text);
    return expect(200, "POST", "/v1/diff");
  }
  static Json resource(const Json& diff, const std::string& name) {
    for (const Json& item : diff["resources"])
      if (item["name"] == name) return item;
    return nullptr;
  }
  static std::string effects(const Json& item) { return item["effects"].dump(); }
};

TEST_F(ApiDiff, NothingChangedIsNoDifference) {
  const Json diff = expect(200, "POST", "/v1/diff");
  EXPECT_EQ(diff["changed"], false);
  EXPECT_TRUE(diff["resources"].empty());
  EXPECT_TRUE(diff["services"].empty());
}

TEST_F(ApiDiff, P7_1_AnEndpointThatLeavesDrainsAndItsShareMoves) {
  const Json diff = after(", {ipAddress: 10.2.0.12}", "");
  const Json group = resource(diff, "a");
  EXPECT_EQ(group["change"], "changed");
  EXPECT_EQ(group["fields"][0]["path"], "endpoints[10.2.0.12]");
  EXPECT_EQ(group["fields"][0]["old"]["ipAddress"], "10.2.0.12");
  EXPECT_EQ(group["fields"][0]["new"], nullptr);
  EXPECT_EQ(effects(group), R"x(["endpoint 10.2.0.12 of a starts draining (300 s)"])x");
  ASSERT_EQ(diff["services"].size(), 1u);
  // One of two backends: half of the slots, and no other slot.
  EXPECT_NEAR(diff["services"][0]["newConnectionsMoved"].get<double>(), 0.5, 0.001);
  EXPECT_EQ(diff["services"][0]["entriesRemoved"], 0);
  // It was only asked.
  EXPECT_EQ(manager_.controlPlane().configuration().groups.at(0).endpoints.size(), 2u);
  EXPECT_EQ(expect(200, "GET", "/v1/backendServices/web")["status"]["draining"], 0);
}

TEST_F(ApiDiff, TheShareIsThatOfTheTablesThatTheEngineWillHave) {
  start();
  const auto before = manager_.controlPlane().everything();
  const Json diff = after("10.2.0.11}, {ipAddress: 10.2.0.12}",
                          "10.2.0.11}, {ipAddress: 10.2.0.12}, {ipAddress: 10.2.0.13}");
  ASSERT_EQ(expect(200, "POST", "/v1/reload")["changed"], true);
  const auto now = manager_.controlPlane().everything();
  const Service was(before.services.at(0), before.rules->hashSeed);
  const Service is(now.services.at(0), now.rules->hashSeed);
  const auto endpointAt = [](const Service& service, std::size_t slot) {
    const auto& choice = service.choiceFor(kNoZone);
    return service.describe(choice.set.members[choice.table.slots()[slot]].slot)->endpoint;
  };
  std::size_t moved = 0;
  for (std::size_t slot = 0; slot < kMaglevSlots; ++slot)
    if (endpointAt(was, slot) != endpointAt(is, slot)) ++moved;
  EXPECT_GT(moved, 0u);
  EXPECT_DOUBLE_EQ(diff["services"][0]["newConnectionsMoved"].get<double>(),
                   static_cast<double>(moved) / kMaglevSlots);
}

TEST_F(ApiDiff, P6_5_APoolSwitchIsToldWithItsRule) {
  const Json diff = after("{ipAddress: 10.2.0.11}, {ipAddress: 10.2.0.12}", "");
  EXPECT_EQ(diff["services"][0]["newConnectionsMoved"], 1.0);
  EXPECT_THAT(effects(diff["services"][0]),
              HasSubstr("pool switch: the failover backends take over"));
  EXPECT_THAT(effects(diff["services"][0]), HasSubstr("eligible backends are chosen by P2."));
}

TEST_F(ApiDiff, WithoutATimeoutTrackedConnectionsEndAndOnlyTheEngineKnowsHowMany) {
  put("conf.d/web.yaml", std::string(kWeb).replace(kWeb.find("300"), 3, "0"));
  start();
  std::string text = read("conf.d/web.yaml");
  text.erase(text.find(", {ipAddress: 10.2.0.12}"), 24);
  put("conf.d/web.yaml", text);
  const Json diff = expect(200, "POST", "/v1/diff");
  EXPECT_THAT(effects(resource(diff, "a")),
              HasSubstr("is gone, its tracked connections end at once"));
  EXPECT_EQ(diff["services"][0]["entriesRemoved"], nullptr);  // there is no engine here
}

TEST_F(ApiDiff, AnotherAffinityMovesWhatIsToBeExpected) {
  const Json diff = after("{name: web,", "{name: web, sessionAffinity: CLIENT_IP,");
  EXPECT_NEAR(diff["services"][0]["newConnectionsMoved"].get<double>(), 0.5, 0.001);
  EXPECT_EQ(diff["services"][0]["entriesRemoved"], nullptr);
  EXPECT_EQ(resource(diff, "web")["fields"][0]["path"], "sessionAffinity");
  EXPECT_EQ(resource(diff, "web")["fields"][0]["old"], nullptr);
}

TEST_F(ApiDiff, RulesSayWhichPacketsGoWhere) {
  const Json diff = after("ports: [80]", "ports: [80, 443]");
  EXPECT_EQ(effects(resource(diff, "vip")), R"(["packets to 10.9.9.9 TCP 443 go to service web"])");
}

TEST_F(ApiDiff, APortThatStaysIsNotInterrupted) {
  const auto told = [this](const std::string& ports) {
    return effects(resource(after("ports: [80]", ports), "vip"));
  };
  put("conf.d/web.yaml", std::string(kWeb).replace(kWeb.find("[80]"), 4, "[80, 443]"));
  start();
  EXPECT_EQ(told("ports: [80, 8080]"),
            R"(["packets to 10.9.9.9 TCP 443 are no longer balanced by it",)"
            R"("packets to 10.9.9.9 TCP 8080 go to service web"])");
  EXPECT_EQ(told("portRange: 80-442"),
            R"(["packets to 10.9.9.9 TCP 443 are no longer balanced by it",)"
            R"("packets to 10.9.9.9 TCP 81-442 go to service web"])");
}

TEST_F(ApiDiff, AServiceThatGoesTakesItsConnectionsAlong) {
  start();
  put("conf.d/web.yaml", "");
  const Json diff = expect(200, "POST", "/v1/diff");
  EXPECT_EQ(resource(diff, "web")["change"], "removed");
  EXPECT_EQ(diff["services"][0]["newConnectionsMoved"], 1.0);
  EXPECT_THAT(effects(diff["services"][0]), HasSubstr("the service is gone"));
}

TEST_F(ApiDiff, SettingsThatCannotChangeInFlightAreSaid) {
  start();
  put("weir.yaml", "queues: 2\n");
  const Json diff = expect(200, "POST", "/v1/diff");
  EXPECT_THAT(diff["refusal"].get<std::string>(),
              HasSubstr("queues cannot change while weir runs"));
  EXPECT_EQ(resource(diff, "node")["collection"], "node");
}

TEST_F(ApiDiff, AWholeConfigurationInTheBody) {
  Json whole = expect(200, "GET", "/v1/export?node=true");
  EXPECT_EQ(expect(200, "POST", "/v1/diff", whole.dump())["changed"], false);
  Json resources = expect(200, "GET", "/v1/export");
  EXPECT_EQ(expect(200, "POST", "/v1/diff", resources.dump())["changed"], false);
  resources["forwardingRules"].clear();
  EXPECT_EQ(expect(200, "POST", "/v1/diff", resources.dump())["resources"][0]["change"], "removed");
  // Nothing at all is a configuration, too: everything would go.
  EXPECT_EQ(expect(200, "POST", "/v1/diff", "{}")["resources"].size(), 4u);
  EXPECT_EQ(expect(200, "POST", "/v1/diff", kWeb, "application/yaml")["changed"], false);
}

TEST_F(ApiDiff, AWantedConfigurationWithErrorsIs422) {
  const Json refused = expect(422, "POST", "/v1/diff",
                              R"({"backendServices":[{"name":"s","backends":[{"group":"x"}]}]})");
  EXPECT_EQ(refused["diagnostics"][0]["path"], "backends[0].group");
  put("conf.d/web.yaml", "routes: 5\n");
  EXPECT_EQ(expect(422, "POST", "/v1/diff")["diagnostics"][0]["line"], 1);
}

}  // namespace
}  // namespace weir::manager
