#include "base/base64.h"

#include <gtest/gtest.h>

namespace suture {
namespace {

TEST(Base64, is_that_of_rfc_4648) {
  const std::pair<const char*, const char*> kPairs[] = {{"", ""},
                                                        {"f", "Zg=="},
                                                        {"fo", "Zm8="},
                                                        {"foo", "Zm9v"},
                                                        {"foob", "Zm9vYg=="},
                                                        {"fooba", "Zm9vYmE="},
                                                        {"foobar", "Zm9vYmFy"}};
  for (const auto& [bytes, text] : kPairs) {
    EXPECT_EQ(to_base64(bytes), text);
    EXPECT_EQ(from_base64(text), bytes);
  }
}

TEST(Base64, every_byte_comes_back) {
  std::string bytes;
  for (int length = 0; length < 600; ++length) {
    EXPECT_EQ(from_base64(to_base64(bytes)), bytes);
    bytes += static_cast<char>(length * 37);
  }
}

TEST(Base64, other_texts_are_refused) {
  for (const char* text : {"Z", "Zg=", "Zg", "Z===", "Zm9v Zm9", "Zm-v", "====", "Zg==Zg=="})
    EXPECT_FALSE(from_base64(text)) << text;
}

}  // namespace
}  // namespace suture
