// SPDX-License-Identifier: GPL-2.0-or-later
//
// What C1 says of YAML, scalars, keys and documents: each case has exactly one error at its '@'.
#include "fixture.h"

namespace weir::config::test {
namespace {

class Text : public testing::TestWithParam<WrongCase> {};
TEST_P(Text, C1_ErrorHasItsPlace) { expectOneError(GetParam()); }

std::string node(const std::string& field) { return kAll + field + "\n"; }
std::string check(const std::string& fields) {
  return "healthChecks: [{name: hc, " + fields + "}]\n" + kGroup + kService + kRule;
}
std::string deep(unsigned levels) { return std::string(levels, '['); }

const std::vector<WrongCase> kYaml{
    {"UnclosedFlow", "a: @[1, 2\n", "never closed"},
    {"UnclosedFlowMapping", "healthChecks: [{name: a}, @{name: b\n", "never closed"},
    {"WrongBracket", "healthChecks: [{name: a}, {name: b@]\n", "does not close"},
    {"UnclosedQuote", "zones:\n  - name: @\"za\n", "quote is never closed"},
    {"UnclosedSingleQuote", "zones: [{name: @'za}]\n", "quote is never closed"},
    {"ColonInPlainText", "zones: za@: b\n", "':' cannot stand here"},
    {"WrongIndent", "queues: 1\n queueBase@: 2\n", "':' cannot stand here"},
    {"TabIndent", "location:\n@\tzone: za\n", "tab"},
    {"TabIndentLater", "location:\n  zone: za\n@\tregion: r\n", "tab"},
    {"Tag", "queues: @!!int 1\n", "tags"},
    {"TagOnMapping", "location: @!x {zone: za}\n", "tags"},
    {"MergeKey", "location: &l {region: r1}\nzones: [{@<<: *l, name: za}]\n", "merge keys"},
    {"SequenceAsKey", "@[a]: 1\n", "a key must be text"},
    {"MappingAsKey", "? @{a: 1}\n: 2\n", "a key must be text"},
    {"NullKey", "@~: 1\n", "a key must be text"},
    {"UnknownAlias", "queues: @*nothing\n", "not valid YAML"},
    {"AliasOfItself", "zones: &z [@*z]\n", "inside of what it refers to"},
    {"TooDeepFlow", "zones: " + deep(99) + "@[1]" + std::string(99, ']') + "\n", "deeper than 100"},
    {"ControlCharacter", "location: {zone: z@\x01}\n", "U+0001"},
    {"Nul", std::string("queues: @\0 1\n", 13), "U+0000"},
    {"Escape", "# @\x1b[31m\n", "U+001B"},
    {"Delete", "# @\x7f\n", "U+007F"},
    {"LoneCarriageReturn", "queues: 1@\rqueueBase: 2\n", "U+000D"},
    {"C1Control", "# @\xc2\x85\n", "U+0085"},
    {"NotUtf8", "# caf@\xe9\n", "0xe9"},
    {"Utf8CutShort", "# @\xc3", "0xc3"},
    {"Utf8Overlong", "# @\xc0\xaf\n", "0xc0"},
    {"Utf8Overlong3", "# @\xe0\x80\xaf\n", "0xe0"},
    {"Utf8Surrogate", "# @\xed\xa0\x80\n", "0xed"},
    {"Utf8TooLarge", "# @\xf4\x90\x80\x80\n", "0xf4"},
    {"Utf16", "@\xff\xfeq\n", "0xff"},
    {"ColumnCountsCharacters", "zones: [{name: za, region: @\"\xc3\xa9\xc3\xa9\"}]\n", "region"},
    {"CrLfLinesCount", "queues: 1\r\nqueueBase: @x\r\n", "queueBase"},
};

INSTANTIATE_TEST_SUITE_P(Yaml, Text, testing::ValuesIn(kYaml), nameOfCase);

INSTANTIATE_TEST_SUITE_P(
    Keys, Text,
    testing::Values(
        WrongCase{"Unknown", kAll + "@frobnicate: 1\n", "unknown key 'frobnicate'"},
        WrongCase{"UnknownNear", kAll + "@helthChecks: []\n", "did you mean 'healthChecks'?"},
        WrongCase{"UnknownCase", kAll + "@healthchecks: []\n", "did you mean 'healthChecks'?"},
        WrongCase{"UnknownTransposed", kAll + "@roetus: []\n", "did you mean 'routes'?"},
        WrongCase{"UnknownSaysAllowed", kAll + "@x: 1\n", "allowed are location, zones"},
        WrongCase{"UnknownInResource", check("@checkIntervalSecs: 5"),
                  "did you mean 'checkIntervalSec'?"},
        WrongCase{"UnknownInBlock", check("tcpHealthCheck: {@prt: 5}"), "did you mean 'port'?"},
        WrongCase{"UnknownInLog", check("logConfig: {@enabled: true}"), "did you mean 'enable'?"},
        WrongCase{"UnknownInNode", node("location: {@zoen: za}"), "did you mean 'zone'?"},
        WrongCase{"UnknownEscaped", node("location: {@\"a\\e[31m\": 1}"), "'a\\x1b[31m'"},
        WrongCase{"UnknownC1Escaped", node("location: {@\"a\\x9b\": 1}"), "'a\\x9b'"},
        WrongCase{"DuplicateTop", "queues: 1\n@queues: 2\n", "line 1 already"},
        WrongCase{"DuplicateQuoted", "queues: 1\n@\"queues\": 1\n", "duplicate key 'queues'"},
        WrongCase{"DuplicateInResource", check("type: TCP, @type: TCP"), "duplicate key 'type'"},
        WrongCase{"DuplicateAcrossDocuments", "queues: 1\n---\n@queues: 1\n", "line 1 has it"},
        WrongCase{"DuplicateCollection", kAll + "routes: []\n@routes: []\n", "duplicate key"},
        WrongCase{"MissingName", "healthChecks: [@{type: TCP}]\n", "needs the key 'name'"},
        WrongCase{"CollectionIsMapping", "healthChecks: @{name: a}\n", "must be a list"},
        WrongCase{"CollectionIsText", "healthChecks: @hc\n", "must be a list of resources"},
        WrongCase{"ResourceIsText", "healthChecks: [@hc]\n", "must be a mapping, not 'hc'"},
        WrongCase{"ResourceIsNothing", "healthChecks:\n  - @~\n", "not nothing"},
        WrongCase{"DocumentIsText", "@hello\n", "mapping of collections"},
        WrongCase{"ListDocumentWithoutKind", "- @{name: a}\n", "'kind'"},
        WrongCase{"ListDocumentOfText", "- @a\n", "'kind'"},
        WrongCase{"UnknownKind", "kind: @compute#backendServices\nname: a\n",
                  "did you mean 'compute#backendService'?"},
        WrongCase{"KindIsMapping", "kind: @{a: 1}\n", "unknown kind a mapping"},
        WrongCase{"ForeignKind", "kind: @compute#urlMap\nname: a\n", "compute#urlMap is not"},
        WrongCase{"ForeignKindAdvice", "kind: @compute#targetPool\nname: a\n", "backendService"}),
    nameOfCase);

INSTANTIATE_TEST_SUITE_P(
    Scalars, Text,
    testing::Values(
        WrongCase{"OctalNumber", node("queues: @010"), "not '010'"},
        WrongCase{"QuotedOctal", node("queues: @'010'"), "not '010'"},
        WrongCase{"Exponent", node("queues: @1e1"), "not '1e1'"},
        WrongCase{"Hexadecimal", node("queues: @0x10"), "not '0x10'"},
        WrongCase{"Plus", node("queues: @+1"), "not '+1'"},
        WrongCase{"Decimal", node("queues: @1.0"), "not '1.0'"},
        WrongCase{"Underscore", node("queueBase: @8_100"), "not '8_100'"},
        WrongCase{"Blank", node("queues: @' 1'"), "not ' 1'"},
        WrongCase{"Tilde", node("queues: @~"), "not nothing"},
        WrongCase{"NullWord", node("queues: @null"), "not nothing"},
        WrongCase{"NothingWritten", node("@queues:"), "not nothing"},
        WrongCase{"Overflow", node("queues: @99999999999999999999"), "from 1 to 64"},
        WrongCase{"Negative", node("queues: @-1"), "from 1 to 64"},
        WrongCase{"MinusZero", node("queueBase: @-00"), "queueBase"},
        WrongCase{"NumberIsList", node("queues: @[1]"), "not a list"},
        WrongCase{"NumberIsMapping", node("queues: @{a: 1}"), "not a mapping"},
        WrongCase{"BooleanNo", check("logConfig: {enable: @no}"), "true or false, not 'no'"},
        WrongCase{"BooleanYes", check("logConfig: {enable: @yes}"), "true or false, not 'yes'"},
        WrongCase{"BooleanOn", check("logConfig: {enable: @on}"), "true or false"},
        WrongCase{"BooleanTitle", check("logConfig: {enable: @True}"), "true or false"},
        WrongCase{"BooleanNumber", check("logConfig: {enable: @1}"), "true or false"},
        WrongCase{"BooleanQuoted", check("logConfig: {enable: @'true'}"), "without quotes"},
        WrongCase{"TextIsNull", check("httpHealthCheck: {host: @null}, type: HTTP"),
                  "host must be"},
        WrongCase{"TextIsList", check("httpHealthCheck: {host: @[a]}, type: HTTP"), "not a list"},
        WrongCase{"LongTextIsCut", node("queues: @" + std::string(200, 'x')),
                  "'" + std::string(60, 'x') + "...'"},
        WrongCase{"EnumLowerCase", check("type: @tcp"), "did you mean 'TCP'?"},
        WrongCase{"EnumSaysAllowed", check("type: @UDP"), "GRPC or GRPC_WITH_TLS"},
        WrongCase{"EnumIsList", check("type: @[TCP]"), "not a list"}),
    nameOfCase);

INSTANTIATE_TEST_SUITE_P(
    Node, Text,
    testing::Values(
        WrongCase{"Region", node("location: {region: @R1}"), "region must be"},
        WrongCase{"Zone", node("location: {zone: @1a}"), "zone must be"},
        WrongCase{"LocationIsText", node("location: @za"), "a mapping"},
        WrongCase{"ZoneName", node("zones: [{name: @za-}]"), "the last not '-'"},
        WrongCase{"ZoneWithoutName", node("zones: [@{region: r1}]"), "needs the key 'name'"},
        WrongCase{"ZonesIsMapping", node("zones: @{za: r1}"), "zones must be a list"},
        WrongCase{"ZoneTwice", node("zones: [{name: za}, {name: @za}]"), "already"},
        WrongCase{"ClientRange", node("zones: [{name: za, clientRanges: [@10.1.0.0/33]}]"),
                  "clientRanges must be"},
        WrongCase{"ClientRangeHostBits", node("zones: [{name: za, clientRanges: [@10.1.0.7/16]}]"),
                  "10.1.0.0/16"},
        WrongCase{"ClientRangeTwice",
                  node("zones: [{name: za, clientRanges: [10.1.0.0/16]}, {name: zb, "
                       "clientRanges: [@10.1.0.0/16]}]"),
                  "a client has one zone"},
        WrongCase{"PlacesInALaterDocument", "queues: 1\n---\nzones: [{name: za}, {name: @za}]\n",
                  "already"},
        WrongCase{"OwnZoneElsewhere",
                  node("zones: [{name: za, region: r1}]\nlocation: {zone: za, region: @r2}"),
                  "lies in region 'r1'"},
        WrongCase{"ProximityNegative", node("proximity: {za: @-1}"), "from 0 to 60000"},
        WrongCase{"ProximityName", node("proximity: {@Za: 1}"), "not a name"},
        WrongCase{"ProximityIsList", node("proximity: @[1]"), "mapping from names"},
        WrongCase{"MaskHole", node("fwmarkMask: @0xf0f0"), "contiguous"},
        WrongCase{"MaskOneBit", node("fwmarkMask: @0x8000"), "at least 2"},
        WrongCase{"MaskZero", node("fwmarkMask: @0"), "contiguous bits"},
        WrongCase{"MaskTooWide", node("fwmarkMask: @0x1ffffffff"), "contiguous bits"},
        WrongCase{"MaskNotHex", node("fwmarkMask: @0xfg"), "contiguous bits"},
        WrongCase{"MaskBareHex", node("fwmarkMask: @ff0000"), "contiguous bits"},
        WrongCase{"HashSeedNegative", node("hashSeed: @-5"), "hashSeed must be"},
        WrongCase{"QueuesZero", node("queues: @0"), "from 1 to 64"},
        WrongCase{"QueuesMany", node("queues: @65"), "from 1 to 64"},
        WrongCase{"QueueBase", node("queueBase: @65536"), "from 0 to 65535"},
        WrongCase{"QueuesBeyondLast", node("queues: 2\nqueueBase: @65535"), "last queue number"},
        WrongCase{"RuleBase", node("ruleBase: @32767"), "from 10 to 16000"},
        WrongCase{"TableBase", node("tableBase: @255"), "from 256"},
        WrongCase{"RouteProtocol", node("routeProtocol: @4"), "from 5 to 252"},
        WrongCase{"TrackedIpv4", node("trackingTable: {ipv4Entries: @1023}"), "from 1024"},
        WrongCase{"TrackedIpv6", node("trackingTable: {ipv6Entries: @134217729}"), "134217728"},
        WrongCase{"MetricsNoPort", node("metrics: {address: @127.0.0.1}"), "address and port"},
        WrongCase{"MetricsName", node("metrics: {address: @'localhost:9147'}"), "127.0.0.1:9147"},
        WrongCase{"MetricsIpv6NoBrackets", node("metrics: {address: @'::1:9147'}"), "[::1]:9147"},
        WrongCase{"MetricsPortZero", node("metrics: {address: @'127.0.0.1:0'}"), "address"},
        WrongCase{"LogLevel", node("log: {level: @warn}"), "did you mean 'warning'?"},
        WrongCase{"InterfaceLong", node("interfaces: [@abcdefghijklmnop]"), "1 to 15 characters"},
        WrongCase{"InterfaceEmpty", node("interfaces: [@'']"), "name of a network interface"},
        WrongCase{"InterfaceSlash", node("interfaces: [eth0, @a/b]"), "without blank or '/'"},
        WrongCase{"InterfaceDots", node("interfaces: [@..]"), "name of a network interface"},
        WrongCase{"InterfaceTwice", node("interfaces: [eth0, eth1, @eth0]"), "listed twice"},
        WrongCase{"InterfacesIsText", node("interfaces: @eth0"), "interfaces must be a list"},
        WrongCase{"ManageSysctls", node("manageSysctls: @yes"), "true or false"},
        WrongCase{"EngineGrace", node("engineGraceSec: @3601"), "from 0 to 3600"},
        WrongCase{"FlowCache", node("flowCache: @on"), "auto, off or require"},
        WrongCase{"FlowCacheNear", node("flowCache: @required"), "did you mean 'require'?"},
        WrongCase{"ProxyIsList", node("proxy: @[]"), "must be a mapping"},
        WrongCase{"ProxyUnknown", node("proxy: {@thread: 1}"), "did you mean 'threads'?"},
        WrongCase{"X1_5_Source", node("proxy: {sourceAddresses: [@0.0.0.0]}"),
                  "IPv4 or IPv6 address of a host"},
        WrongCase{"X1_5_SourceRange", node("proxy: {sourceAddresses: [@10.0.0.0/24]}"),
                  "address of a host"},
        WrongCase{"X1_5_SourceTwice",
                  node("proxy: {sourceAddresses: [10.0.0.1, 'fd00::1', @10.0.0.1]}"),
                  "'10.0.0.1' is listed twice"},
        WrongCase{"X6_4_HelloTimeoutZero", node("proxy: {clientHelloTimeoutSec: @0}"),
                  "from 1 to 300"},
        WrongCase{"X5_5_Grace", node("proxy: {shutdownGraceSec: @86401}"), "from 0 to 86400"},
        WrongCase{"X5_5_GraceDuration", node("proxy: {shutdownGraceSec: @30s}"),
                  "a whole number from 0 to 86400, not '30s'"},
        WrongCase{"Threads", node("proxy: {threads: @257}"), "from 0 to 256"},
        WrongCase{"X5_KeepaliveProbes", node("proxy: {keepaliveProbes: @0}"), "from 1 to 127"},
        WrongCase{"X5_UserTimeout", node("proxy: {userTimeoutSec: @86401}"), "from 0 to 86400"},
        WrongCase{"X3_1_NameServer", node("proxy: {nameServers: [@dns.example.com]}"),
                  "IPv4 or IPv6 address of a host"},
        WrongCase{"X3_1_NameServerTwice", node("proxy: {nameServers: [10.0.0.53, @10.0.0.53]}"),
                  "'10.0.0.53' is listed twice"},
        WrongCase{"X3_1_ShortestTtl", node("proxy: {dnsMinTtlSec: @7200}"),
                  "dnsMinTtlSec (7200) must be at most dnsMaxTtlSec (3600)"},
        WrongCase{"X3_1_LongestTtl", node("proxy: {dnsMaxTtlSec: @4}"),
                  "dnsMinTtlSec (5) must be at most dnsMaxTtlSec (4)"}),
    nameOfCase);

std::vector<WrongCase> foreignCollections() {
  std::vector<WrongCase> cases;
  for (const std::string name :
       {"targetPools",       "targetInstances",  "targetHttpProxies", "targetHttpsProxies",
        "targetGrpcProxies", "targetSslProxies", "targetVpnGateways", "urlMaps",
        "backendBuckets",    "sslCertificates",  "sslPolicies",       "httpHealthChecks",
        "httpsHealthChecks", "instances",        "instanceGroups",    "instanceGroupManagers",
        "instanceTemplates", "autoscalers",      "addresses",         "firewalls",
        "securityPolicies",  "networks",         "subnetworks",       "routers",
        "vpnTunnels"})
    cases.push_back(
        {name, kAll + "@" + name + ": [{name: a, x: 1}]\n", name + " are not supported by weir"});
  return cases;
}
INSTANTIATE_TEST_SUITE_P(RefusedByName, Text, testing::ValuesIn(foreignCollections()), nameOfCase);

INSTANTIATE_TEST_SUITE_P(
    Exports, Text,
    testing::Values(WrongCase{"BareResource", "@name: t\nrules: []\ntargetProxies: [p]\n",
                              "this is one resource, but of which collection"},
                    WrongCase{"BareResourceInAList", "- @{name: t}\n", "with its 'kind'"},
                    WrongCase{"PathOfAnUnknownCollection",
                              "@name: projects/p/locations/global/tcpRoutes/t\nrules: []\n",
                              "of which collection"},
                    WrongCase{"UnknownKeyOfAPath",
                              "name: projects/p/locations/global/serviceLbPolicies/b\n@rules: []\n",
                              "unknown key 'rules' in a service load-balancing policy"}),
    nameOfCase);

TEST(Errors, C1_AllOfAllFilesInOneRun) {
  const Loaded loaded = load({"weir.yaml", "queues: 0\nx: 1\n"},
                             {{"conf.d/a.yaml", "healthChecks: [{name: A}]\n"},
                              {"conf.d/b.yaml", "broken: [\n"},
                              {"conf.d/c.yaml",
                               "backendServices: [{name: s, foo: 1, healthChecks: [h], "
                               "backends: [{group: g}], connectionTrackingPolicy: "
                               "{idleTimeoutSec: 3600}}]\n"}});
  const auto found = errors(loaded);
  std::vector<std::string> places;
  for (const auto& d : found) places.push_back(d.file + ":" + std::to_string(d.line));
  EXPECT_THAT(places, testing::ElementsAre("conf.d/a.yaml:1", "conf.d/b.yaml:1", "conf.d/c.yaml:1",
                                           "conf.d/c.yaml:1", "conf.d/c.yaml:1", "conf.d/c.yaml:1",
                                           "weir.yaml:1", "weir.yaml:2"))
      << all(found);
  // A name may be missing only because its file could not be read; that is said.
  EXPECT_THAT(all(found), testing::HasSubstr("not all of conf.d/b.yaml could be read"));
}

TEST(Errors, C1_NodeSettingsBelongIntoWeirYaml) {
  const Loaded loaded = load({"weir.yaml", ""}, {{"conf.d/a.yaml", "queues: 2\n"}});
  ASSERT_EQ(errors(loaded).size(), 1u);
  EXPECT_THAT(errors(loaded)[0].message, testing::HasSubstr("belongs into weir.yaml"));
}

TEST(Errors, C1_DuplicateNamesNameBothPlaces) {
  const Loaded loaded = load({"weir.yaml", "\n" + kCheck}, {{"conf.d/a.yaml", kCheck}});
  ASSERT_EQ(errors(loaded).size(), 1u);
  EXPECT_EQ(errors(loaded)[0].file, "conf.d/a.yaml");
  EXPECT_THAT(errors(loaded)[0].message, testing::HasSubstr("weir.yaml:2"));
}

TEST(Errors, ShowTheLineAndACaret) {
  const Loaded loaded = loadText("location: {zone: \"\xc3\xa9\", zoen: 1}\n");
  ASSERT_EQ(errors(loaded).size(), 2u);
  EXPECT_THAT(errors(loaded)[1].toString(),
              testing::StartsWith("weir.yaml:1:23: error: unknown key 'zoen' in location"));
  EXPECT_THAT(errors(loaded)[1].toString(),
              testing::EndsWith("\n  location: {zone: \"\xc3\xa9\", zoen: 1}\n  " +
                                std::string(22, ' ') + "^"));
}

TEST(Errors, AByteOrderMarkIsNoCharacter) {
  const auto found = errors(loadText("\xef\xbb\xbfqueues: x\n"));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].column, 9u);
}

TEST(Errors, ControlCharactersOfALineAreEscaped) {
  const auto shown = [](const std::string& text) {
    const auto found = errors(loadText(text));
    EXPECT_EQ(found.size(), 1u);
    const std::string whole = found.at(0).toString();
    return whole.substr(whole.find('\n'));
  };
  EXPECT_EQ(shown("# a\x1b[31mred\n"), "\n  # a\\x1b[31mred\n     ^");
  EXPECT_EQ(shown("# \x01\x02\xc2\x85\n"), "\n  # \\x01\\x02\\x85\n    ^");
  EXPECT_EQ(shown("# caf\xe9 \xc3\xa9\n"), "\n  # caf\\xe9 \xc3\xa9\n       ^");
  EXPECT_EQ(shown("q\x7f: \xff\n"), "\n  q\\x7f: \\xff\n   ^");
}

TEST(Errors, TheCaretFollowsWhatIsEscapedBeforeIt) {
  Diagnostic d;
  d.line = 1;
  d.column = 4;
  d.message = "m";
  d.sourceLine =
      "a\x01\xc2\x85"
      "b";
  EXPECT_EQ(d.toString(),
            "1:4: error: m\n  a\\x01\\x85"
            "b\n           ^");
}

TEST(Errors, CaretKeepsTabs) {
  Diagnostic d;
  d.file = "f";
  d.line = 1;
  d.column = 3;
  d.message = "m";
  d.sourceLine = "\ta: b";
  EXPECT_EQ(d.toString(), "f:1:3: error: m\n  \ta: b\n  \t ^");
}

}  // namespace
}  // namespace weir::config::test
