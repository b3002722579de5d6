// Challenges of servers, and the answers to them: the examples of RFC 7616, and what cameras write.
#include "stages/sources/login_challenge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace campipe {
namespace CAMPIPE_FILE {

using testing::HasSubstr;
using testing::Not;

constexpr const char* example =
    "Digest realm=\"http-auth@example.org\", qop=\"auth, auth-int\", algorithm=ALGORITHM, "
    "nonce=\"7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v\", opaque=\"FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS\"";

LoginChallenge challenge_of(std::string text, const std::string& algorithm) {
  text.replace(text.find("ALGORITHM"), 9, algorithm);
  const auto all = read_challenges(text);
  EXPECT_EQ(all.size(), 1U);
  return all.at(0);
}

std::string answer_to(const LoginChallenge& challenge) {
  return answer_digest(challenge, {"Mufasa", "Circle of Life"}, "GET", "/dir/index.html", 1,
                       "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ");
}

TEST(LoginChallenge, TheExamplesOfTheStandard) {
  EXPECT_THAT(answer_to(challenge_of(example, "MD5")), HasSubstr("response=\"8ca523f5e9506fed4657c9700eebdbec\""));
  const std::string answer = answer_to(challenge_of(example, "SHA-256"));
  EXPECT_THAT(answer, HasSubstr("response=\"753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1\""));
  EXPECT_THAT(answer, HasSubstr("algorithm=SHA-256"));
  EXPECT_THAT(answer, HasSubstr("qop=auth, nc=00000001"));
  EXPECT_THAT(answer, HasSubstr("opaque=\"FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS\""));
}

// By Python's hashlib.
TEST(LoginChallenge, OtherAlgorithmsAndQualities) {
  const auto response = [](const std::string& algorithm, const std::string& quality) {
    std::string text = "Digest realm=\"cam\", nonce=\"abc\"";
    if (!algorithm.empty()) text += ", algorithm=" + algorithm;
    if (!quality.empty()) text += ", qop=\"" + quality + "\"";
    const std::string answer =
        answer_digest(read_challenges(text).at(0), {"admin", "secret12"}, "DESCRIBE", "rtsp://h/s", 2, "own");
    const auto at = answer.find("response=\"") + 10;
    return answer.substr(at, answer.find('"', at) - at);
  };
  EXPECT_EQ(response("", ""), "489fcf46e96e04588924a9f2fd130133");
  EXPECT_EQ(response("SHA-256", ""), "eac354495f42da1e263567afc8af4169f026734fc3d7bb420aa80b579b13e9f1");
  EXPECT_EQ(response("sha-256", "auth"), "25bac0ddf2de66e87e6d469b8e7aa2099859f1558b01355d848c9a6a0d0d3ae6");
  EXPECT_EQ(response("SHA-256-sess", "auth"), "c9d49b39ef81d1dbef9e40aa50952f0a53077414fcad1785438bc924d9988efa");
  EXPECT_EQ(response("SHA-256", "auth-int"), "80ef577b246250cc3dd89a8ecb7ddd8d30b7f553ff78e063cc4da461a11c48e8");
  EXPECT_EQ(response("SHA-512-256", "auth"), "920a7c94401e4556d427633c35040becbde61056794898a54c9b14d5c148d13f");
}

TEST(LoginChallenge, SeveralInOneHeader) {
  const auto all =
      read_challenges("Negotiate, Digest realm=\"a, b=c\",nonce = x , algorithm=SHA-256,Basic realm=\"r\\\"s\"");
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[0].scheme, "negotiate");
  EXPECT_EQ(all[1].scheme, "digest");
  EXPECT_EQ(all[1].fields.at("realm"), "a, b=c");
  EXPECT_EQ(all[1].fields.at("nonce"), "x");
  EXPECT_EQ(all[2].scheme, "basic");
  EXPECT_EQ(all[2].fields.at("realm"), "r\"s");
  EXPECT_EQ(challenges_text(all), "Negotiate, Digest with SHA-256, Basic");
  EXPECT_EQ(best_challenge(all), &all[1]);
}

TEST(LoginChallenge, WhatFFmpegKnowsIsLeftToIt) {
  const auto best = [](const std::string& text) {
    const auto all = read_challenges(text);
    const LoginChallenge* one = best_challenge(all);
    return one != nullptr ? one->text() : "";
  };
  const std::string rest = " realm=\"r\", nonce=\"n\"";
  EXPECT_EQ(best("Digest" + rest + ", algorithm=MD5, Digest" + rest + ", algorithm=SHA-256"), "Digest with MD5");
  EXPECT_EQ(best("Digest" + rest + ", algorithm=SHA-256, Digest" + rest), "Digest with MD5");
  EXPECT_EQ(best("Basic realm=\"r\", Digest" + rest + ", algorithm=SHA-256"), "Digest with SHA-256");
  EXPECT_EQ(best("Basic realm=\"r\", Digest" + rest + ", algorithm=SHA-3"), "Basic");
  EXPECT_EQ(best("Digest" + rest + ", qop=\"auth-int\""), "Digest with MD5 and qop=auth-int");
  EXPECT_EQ(best("Digest" + rest + ", algorithm=SHA-3"), "");
  EXPECT_EQ(best("NTLM"), "");
}

TEST(LoginChallenge, OddTextEnds) {
  for (const char* text : {"", "=", "Digest", "Digest realm", "Digest realm=", "Digest realm=\"", "Digest realm=\"a\\",
                           ",,,=,\"", "Digest \"x\" =y, z"}) {
    EXPECT_LE(read_challenges(text).size(), 4U) << text;
  }
}

TEST(LoginChallenge, TheLoginOfAUrl) {
  const auto login = login_of("rtsp://ad%40min:p%3As%2Fw%231%3F%25@host:1/x");
  ASSERT_TRUE(login);
  EXPECT_EQ(login->user, "ad@min");
  EXPECT_EQ(login->password, "p:s/w#1?%");
  EXPECT_EQ(login_of("rtsp://a:b:c@h")->password, "b:c");
  EXPECT_EQ(login_of("rtsp://a@h")->password, "");
  EXPECT_FALSE(login_of("rtsp://host/a@b"));
  EXPECT_FALSE(login_of("clip.mp4"));
}

// A header ends with its line: what a server writes begins no other one.
TEST(LoginChallenge, AnAnswerIsOneLine) {
  LoginChallenge challenge = challenge_of(example, "SHA-256");
  challenge.fields["realm"] = "a\r\nX: \"b\"";
  EXPECT_THAT(answer_to(challenge), Not(HasSubstr("\n")));
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
