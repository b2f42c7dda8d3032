// SPDX-License-Identifier: GPL-2.0-or-later
#include "proxy/admission.h"

#include "unit/proxy/proxy_fixture.h"

namespace weir::proxy {
namespace {

using namespace test;

TEST(Admission, X5_6_TwoDescriptorsForEachConnectionAndSomeForTheRest) {
  Admission admission;
  EXPECT_TRUE(admission.hasRoom());
  admission.begin(64, 2);
  EXPECT_EQ(admission.pipesPerThread(), 2u);
  admission.setOthers(18);
  EXPECT_EQ(admission.most(), 13u);  // (64 - 18 - 8 for pipes - 12 in reserve) / 2
  admission.begin(1'048'576, 4);
  admission.setOthers(100);
  EXPECT_GT(admission.most(), 450'000u);
  admission.setOthers(2'000'000);
  EXPECT_FALSE(admission.hasRoom());
}

class AdmissionTest : public ProxyTest {};

TEST_F(AdmissionTest, X5_6_WhoFindsNoRoomWaitsAndTheOthersGoOn) {
  Server server;
  service("shop", {server.address()});
  admission_.begin(64, 1);
  admission_.setOthers(64 - 8 - 12 - 2 * 2);  // room for two
  ASSERT_EQ(admission_.most(), 2u);
  start();
  Stream a = client(), b = client();
  Stream atA = server.accept(), atB = server.accept();
  Stream c = client();
  c.say("c");
  EXPECT_FALSE(server.isCalled(300ms));
  EXPECT_GT(thread_->counters().acceptPaused.value(), 0u);
  EXPECT_LT(thread_->counters().acceptPaused.value(), 10u);  // it does not ask in a circle
  a.say("a");
  EXPECT_EQ(atA.hear(1), "a");
  b.close();
  atB.hear(1);
  atB.close();
  Stream atC = server.accept();
  EXPECT_EQ(atC.hear(1), "c");
}

}  // namespace
}  // namespace weir::proxy
