// `campipe status`, `top` and `reload` as a user meets them, with a fake rig at the other end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <cstdlib>
#include <memory>

#include "tests/integration/rig_run.h"
#include "tests/integration/terminal_program.h"
#include "tests/paths.h"
#include "tests/unit/peers.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

class FakeRig {
 public:
  explicit FakeRig(const std::vector<std::string>& options = {}) {
    std::vector<std::string> command{"python3", std::string(source_folder) + "/tests/integration/fake_rig.py"};
    command.insert(command.end(), options.begin(), options.end());
    program_ = std::make_unique<Program>(command);
    port_ = program_->first_line();
  }
  [[nodiscard]] const std::string& port() const { return port_; }
  [[nodiscard]] std::string url(const std::string& scheme = "http") const { return scheme + "://127.0.0.1:" + port_; }

 private:
  std::unique_ptr<Program> program_;
  std::string port_;
};

class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) { ::setenv(name, value, 1); }
  ~Variable() { ::unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
};

TEST(StatusCommand, PrintsATable) {
  const FakeRig rig;
  const Answer answer = ask({"status", "--url", rig.url()});
  EXPECT_EQ(answer.status, 0) << answer.errors;
  for (const char* part : {"campipe 0.1.0  rig.yaml  running", "3 cameras: 2 running, 1 waiting", "dock/small",
                           "queue_full 4", "no route to host ?[2J?31m", "worker 0", "GPU H200: 40 % busy"}) {
    EXPECT_THAT(answer.output, HasSubstr(part));
  }
  EXPECT_THAT(answer.output, testing::ContainsRegex("\nbelt +running +50\\.0 +12\\.5 +31\\.2 "));
  EXPECT_THAT(answer.output, Not(HasSubstr("\x1b")));
}

TEST(StatusCommand, PrintsWhatTheApiTells) {
  const FakeRig rig;
  const Answer answer = ask({"status", "--json", "--url", rig.url() + "/"});
  EXPECT_EQ(answer.status, 0) << answer.errors;
  EXPECT_EQ(nlohmann::json::parse(answer.output).at("cameras").at("gate").at("state"), "waiting");
}

TEST(StatusCommand, TellsThatNobodyAnswers) {
  const std::string url = "http://127.0.0.1:" + std::to_string(free_port());
  for (const char* command : {"status", "reload"}) {
    const Answer answer = ask({command, "--url", url});
    EXPECT_EQ(answer.status, 1);
    EXPECT_THAT(answer.errors, HasSubstr("no campipe answers at " + url + ": is it running with http_address set?"));
  }
}

TEST(StatusCommand, WaitsForTheFirstStatusOfARig) {
  const FakeRig rig({"--starting", "2"});
  const Answer answer = ask({"status", "--url", rig.url()});
  EXPECT_EQ(answer.status, 0) << answer.errors;
  EXPECT_THAT(answer.output, HasSubstr("3 cameras: 2 running, 1 waiting"));
}

TEST(StatusCommand, DoesNotWaitForTheFirstStatusForEver) {
  const FakeRig rig({"--starting", "1000"});
  const Answer answer = ask({"status", "--url", rig.url()});
  EXPECT_EQ(answer.status, 1);
  EXPECT_THAT(answer.errors, HasSubstr("there is no status of the rig yet"));
}

TEST(StatusCommand, TellsThatSomebodyElseAnswers) {
  const FakeRig rig({"--text", "<html>hello</html>"});
  for (const std::vector<std::string>& options : {std::vector<std::string>{}, {"--json"}}) {
    std::vector<std::string> command{"status", "--url", rig.url()};
    command.insert(command.end(), options.begin(), options.end());
    const Answer answer = ask(command);
    EXPECT_EQ(answer.status, 1);
    EXPECT_THAT(answer.errors, HasSubstr("no status of a campipe"));
  }
}

TEST(StatusCommand, WaitsForAnAnswerSoLongOnly) {
  const FakeRig rig({"--silent"});
  const Answer answer = ask({"status", "--url", rig.url()});
  EXPECT_EQ(answer.status, 1);
  EXPECT_THAT(answer.errors, HasSubstr("did not answer in time"));
}

TEST(StatusCommand, RefusesMisuse) {
  for (const std::vector<std::string>& options :
       {std::vector<std::string>{"--url", "rig"}, {"--url", "http://me:secret@127.0.0.1"}, {"--ca-file", "none.pem"}}) {
    const Answer answer = ask({"status", options[0], options[1]});
    EXPECT_EQ(answer.status, 2);
    EXPECT_THAT(answer.errors, HasSubstr(options[0]));
    EXPECT_THAT(answer.errors, Not(HasSubstr("secret")));
  }
}

TEST(StatusCommand, LogsIn) {
  const FakeRig rig({"--user", "ann:right:one"});
  const std::vector<std::string> with_user{"status", "--user", "ann", "--url", rig.url()};
  EXPECT_THAT(ask({"status", "--url", rig.url()}).errors, HasSubstr("give --user NAME"));
  {
    const Variable password("CAMPIPE_PASSWORD", "right:one");
    EXPECT_EQ(ask(with_user).status, 0);
  }
  const Variable password("CAMPIPE_PASSWORD", "wrong");
  const Answer answer = ask(with_user);
  EXPECT_EQ(answer.status, 1);
  EXPECT_THAT(answer.errors, HasSubstr("does not let 'ann' in: wrong user or password"));
  EXPECT_THAT(answer.errors, Not(HasSubstr("'wrong'")));
}

TEST(StatusCommand, AsksForThePasswordWithoutShowingIt) {
  const FakeRig rig({"--user", "ann:right"});
  TerminalProgram program({campipe_program, "status", "--user", "ann", "--url", rig.url()}, 100, 30);
  ASSERT_TRUE(eventually([&] { return program.written().find("password of ann: ") != std::string::npos; }));
  program.type("right\n");
  EXPECT_EQ(program.wait(), 0);
  EXPECT_TRUE(eventually([&] { return program.written().find("dock") != std::string::npos; })) << program.written();
  EXPECT_THAT(program.written(), Not(HasSubstr("right")));
  EXPECT_TRUE(program.restored());
}

TEST(StatusCommand, ChecksCertificates) {
  const TemporaryFolder folder;
  const std::string certificate = folder.path() / "rig.pem";
  const std::string key = folder.path() / "rig.key";
  ASSERT_EQ(Program({"openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                     "-keyout", key, "-out", certificate, "-days", "1", "-subj", "/CN=rig", "-addext",
                     "subjectAltName=IP:127.0.0.1"})
                .wait(),
            0);
  const FakeRig rig({"--tls", certificate, key});
  const Answer refused = ask({"status", "--json", "--url", rig.url("https")});
  EXPECT_EQ(refused.status, 1);
  EXPECT_THAT(refused.errors, HasSubstr("is not to be trusted"));
  EXPECT_THAT(refused.errors, HasSubstr("--ca-file"));
  EXPECT_EQ(ask({"status", "--json", "--url", rig.url("https"), "--ca-file", certificate}).status, 0);
  EXPECT_THAT(ask({"status", "--url", "https://localhost:" + rig.port(), "--ca-file", certificate}).errors,
              HasSubstr("the name in the certificate"));
}

TEST(ReloadCommand, TellsWhatChanged) {
  const TemporaryFolder folder;
  const std::string seen = folder.path() / "seen";
  const FakeRig rig({"--seen", seen});
  const Answer answer = ask({"reload", "--url", rig.url()});
  EXPECT_EQ(answer.status, 0) << answer.errors;
  EXPECT_EQ(answer.output, "added: yard\nchanged: dock\n");
  EXPECT_EQ(read_text(seen), "[\"POST\", \"/api/v1/reload\", \"application/json\", \"{}\"]\n");
}

TEST(ReloadCommand, TellsWhatIsWrongAsCheckDoes) {
  const FakeRig rig({"--refuse-reload", "errors"});
  const Answer answer = ask({"reload", "--url", rig.url()});
  EXPECT_EQ(answer.status, 2);
  EXPECT_EQ(answer.errors,
            "rig.yaml:4:7: cameras.dock.sourc: unknown key, did you mean 'source'?\nrig.yaml:9:3: ?[31mred\n");
}

TEST(ReloadCommand, TellsWhatNeedsARestart) {
  const FakeRig rig({"--refuse-reload", "error"});
  const Answer answer = ask({"reload", "--url", rig.url()});
  EXPECT_EQ(answer.status, 2);
  EXPECT_THAT(answer.errors, HasSubstr("not reloaded: "));
  EXPECT_THAT(answer.errors, HasSubstr("'tls' cannot be changed while the rig runs; restart it"));
}

std::vector<std::string> top(const std::string& url) { return {campipe_program, "top", "--url", url}; }

TEST(TopCommand, ShowsTheRigAsItGoes) {
  const FakeRig rig;
  TerminalProgram program(top(rig.url()), 110, 30);
  EXPECT_TRUE(program.shows("dock/small")) << program.screen();
  EXPECT_TRUE(program.shows(" 50.0 ")) << "frames a second, once there is more than one status\n" << program.screen();
  EXPECT_TRUE(program.shows("3 cameras: 2 running, 1 waiting")) << program.screen();
  EXPECT_TRUE(program.shows("2 viewers")) << program.screen();
  EXPECT_TRUE(program.shows("no route to host ?[2J?31m")) << "what a camera sends is no command to the terminal";
  program.type("q");
  EXPECT_EQ(program.wait(), 0);
  EXPECT_TRUE(program.restored());
  EXPECT_TRUE(eventually([&] { return program.written().ends_with("\x1b[?1049l"); }));
}

// The camera below the table's head.
std::string first_row(const TerminalProgram& program) {
  const std::string screen = program.screen();
  const auto head = screen.find("NOTES");
  const auto row = head == std::string::npos ? head : screen.find('\n', head);
  return row == std::string::npos ? "" : screen.substr(row + 1, screen.find(' ', row) - row - 1);
}

TEST(TopCommand, WaitsForTheFirstStatusOfARig) {
  const FakeRig rig({"--starting", "2"});
  const TerminalProgram program(top(rig.url()), 110, 30);
  EXPECT_TRUE(program.shows("3 cameras: 2 running, 1 waiting")) << program.screen();
}

TEST(TopCommand, ObeysKeys) {
  const FakeRig rig;
  const TerminalProgram program(top(rig.url()), 110, 30);
  ASSERT_TRUE(program.shows("CAMERA▾"));
  program.type("d");
  EXPECT_TRUE(program.shows("▾DROP/s"));
  EXPECT_TRUE(eventually([&] { return first_row(program) == "dock"; })) << program.screen();
  program.type("r");
  EXPECT_TRUE(eventually([&] { return first_row(program) == "belt"; })) << program.screen();
  program.type("n\x1b[B");
  EXPECT_TRUE(program.shows("rtsp://10.0.0.11/belt")) << program.screen();
  program.type("p");
  EXPECT_TRUE(program.shows("paused"));
  program.type("h");
  EXPECT_TRUE(program.shows("sort by bit rate"));
}

TEST(TopCommand, FollowsTheSizeOfTheTerminal) {
  const FakeRig rig({"--cameras", "30"});
  const TerminalProgram program(top(rig.url()), 110, 20);
  ASSERT_TRUE(program.shows("VIEWERS")) << program.screen();
  EXPECT_THAT(program.screen(), Not(HasSubstr("cam029")));
  program.resize(50, 60);
  EXPECT_TRUE(program.shows("cam029")) << program.screen();
  EXPECT_TRUE(eventually([&] { return program.screen().find("VIEWERS") == std::string::npos; }));
}

TEST(TopCommand, WaitsForARigThatWentAway) {
  auto rig = std::make_unique<FakeRig>();
  const std::string port = rig->port();
  const TerminalProgram program(top(rig->url()), 110, 30);
  ASSERT_TRUE(program.shows("dock"));
  rig.reset();
  EXPECT_TRUE(program.shows("no campipe answers")) << program.screen();
  rig = std::make_unique<FakeRig>(std::vector<std::string>{"--port", port});
  EXPECT_TRUE(eventually([&] { return program.screen().find("no campipe answers") == std::string::npos; }));
}

class TopEnds : public testing::TestWithParam<int> {};

TEST_P(TopEnds, WithTheTerminalAsItWas) {
  const FakeRig rig;
  TerminalProgram program(top(rig.url()), 110, 30);
  ASSERT_TRUE(program.shows("dock"));
  EXPECT_FALSE(program.restored());
  ::kill(program.pid(), GetParam());
  EXPECT_EQ(program.wait(), 128 + GetParam());
  EXPECT_TRUE(program.restored());
  EXPECT_TRUE(eventually([&] { return program.written().ends_with("\x1b[?1049l"); }));
}

INSTANTIATE_TEST_SUITE_P(Signals, TopEnds, testing::Values(SIGINT, SIGTERM, SIGHUP, SIGSEGV, SIGABRT));

TEST(TopCommand, GivesTheTerminalBackWhileItIsStopped) {
  const FakeRig rig;
  TerminalProgram program(top(rig.url()), 110, 30);
  ASSERT_TRUE(program.shows("dock"));
  program.type("\x1a");  // Ctrl-Z
  ASSERT_TRUE(program.stops());
  EXPECT_TRUE(program.restored());
  ::kill(program.pid(), SIGCONT);
  EXPECT_TRUE(eventually([&] { return !program.restored(); }));
  program.type("\x03");  // Ctrl-C
  EXPECT_EQ(program.wait(), 128 + SIGINT);
  EXPECT_TRUE(program.restored());
}

TEST(TopCommand, LeavesTheTerminalAloneWhereThereIsNothingToShow) {
  TerminalProgram program(top("http://127.0.0.1:" + std::to_string(free_port())), 110, 30);
  EXPECT_EQ(program.wait(), 1);
  EXPECT_TRUE(eventually([&] { return program.written().find("no campipe answers") != std::string::npos; }));
  EXPECT_THAT(program.written(), Not(HasSubstr("\x1b")));
}

TEST(TopCommand, NeedsATerminal) {
  const Answer answer = ask({"top"});
  EXPECT_EQ(answer.status, 2);
  EXPECT_THAT(answer.errors, HasSubstr("campipe status"));
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
