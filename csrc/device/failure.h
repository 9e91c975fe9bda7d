// Failures inside the library: thrown, and turned into codes at the C interface.
#pragma once

#include <exception>
#include <string>
#include <utility>

#include "../include/pinion.h"

namespace pinion {

class Failure : public std::exception {
 public:
  Failure(int code, std::string message) : code_(code), message_(std::move(message)) {}
  int code() const { return code_; }
  const char *what() const noexcept override { return message_.c_str(); }

 private:
  int code_;
  std::string message_;
};

}  // namespace pinion
