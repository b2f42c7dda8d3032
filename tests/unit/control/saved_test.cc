// SPDX-License-Identifier: GPL-2.0-or-later
//
// save() and restore(): what must outlive the manager.
#include <gmock/gmock.h>

#include "support/controlled_plane.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

Configuration configured() {
  Configuration configuration;
  configuration.groups = {group("g", {"10.0.0.1", "10.0.0.2", "10.0.0.3"})};
  configuration.services = {service("web", {{"g"}}, 30)};
  return configuration;
}

TEST(Saved, RestoredManagerContinuesWhereItStopped) {
  Controlled before(Health::unknown);
  before.apply(configured(), 0);
  before.health({{{"g", "10.0.0.1"}, Health::healthy}, {{"g", "10.0.0.2"}, Health::healthy}}, 1);
  before.take(before.plane.drain("web", "10.0.0.3", std::nullopt, at(2)));

  Controlled after(Health::unknown);
  ASSERT_TRUE(after.plane.restore(before.plane.save()).ok());
  EXPECT_TRUE(after.plane.everything().empty());
  EXPECT_TRUE(after.apply(configured(), 3).empty());
  EXPECT_EQ(after.plane.everything().services, before.plane.everything().services);
  EXPECT_EQ(after.plane.everything().rules, before.plane.everything().rules);
  EXPECT_EQ(after.plane.nextDeadline(), at(32));
  EXPECT_EQ(after.plane.routes(), before.plane.routes());
  EXPECT_EQ(after.plane.save(), before.plane.save());
}

TEST(Saved, EndpointThatLeftWhileTheManagerWasDownDrainsFromNow) {
  Controlled before;
  before.apply(configured(), 0);
  const Generation made = before.generation("web");
  Controlled after;
  ASSERT_TRUE(after.plane.restore(before.plane.save()).ok());
  Configuration smaller = configured();
  smaller.groups[0].endpoints.pop_back();
  after.apply(smaller, 100);
  EXPECT_TRUE(after.entryLives("web", "10.0.0.3", ProtocolClass::udp, made));
  EXPECT_EQ(after.plane.nextDeadline(), at(130));
}

TEST(Saved, ServiceThatIsGoneIsRemoved) {
  Controlled before;
  before.apply(configured(), 0);
  Controlled after;
  ASSERT_TRUE(after.plane.restore(before.plane.save()).ok());
  Configuration none;
  EXPECT_EQ(after.apply(none, 1).removed, std::vector{before.services["web"].id});
}

TEST(Saved, GenerationNeverFalls) {
  Controlled before;
  before.apply(configured(), 0);
  Controlled after;
  ASSERT_TRUE(after.plane.restore(before.plane.save()).ok());
  Configuration other = configured();
  other.services[0].idleTimeout = std::chrono::seconds(60);
  after.apply(other, 1);
  EXPECT_GT(after.generation("web"), before.generation("web"));
}

TEST(Saved, EveryDamageIsRefusedAndChangesNothing) {
  Controlled before;
  before.apply(configured(), 0);
  const std::string saved = before.plane.save();
  Controlled after;
  after.apply(configured(), 0);
  const std::string untouched = after.plane.save();
  for (std::size_t length = 0; length < saved.size(); ++length)
    ASSERT_FALSE(after.plane.restore(saved.substr(0, length)).ok()) << length;
  const auto replaced = [&](const std::string& what, const std::string& with) {
    std::string text = saved;
    const auto at = text.find(what);
    EXPECT_NE(at, std::string::npos) << what;
    return text.replace(at, what.size(), with);
  };
  for (const auto& [what, with] : std::vector<std::pair<std::string, std::string>>{
           {"\"version\":1", "\"version\":2"},
           {"\"generation\":1", "\"generation\":-1"},
           {"\"generation\":1", "\"generation\":4294967296"},
           {"\"generation\":1", "\"generation\":1.5"},
           {"\"slot\":1", "\"slot\":0"},
           {"\"slot\":1", "\"slot\":70000"},
           {"\"position\":2", "\"position\":1"},
           {"\"position\":1", "\"position\":0"},
           {"HEALTHY", "SPLENDID"},
           {"HEALTHY", "DRAINING"},
           {"10.0.0.1\",\"mayTurn", "10.0.0.1x\",\"mayTurn"},
           {"\"validFrom\":[", "\"validFrom\":[1,"},
           {"\"pool\":\"primary\"", "\"pool\":7"}}) {
    const Status status = after.plane.restore(replaced(what, with));
    ASSERT_FALSE(status.ok()) << what << " -> " << with;
    EXPECT_THAT(status.error().message, HasSubstr("saved state cannot be read"));
  }
  EXPECT_EQ(after.plane.save(), untouched);
}

}  // namespace
}  // namespace weir
