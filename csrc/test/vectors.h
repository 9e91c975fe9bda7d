// What gnark-crypto computes, for comparison: the arrays of the file that csrc/test/vectors wrote, by name.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

// Vectors is the file: build/vectors, or the one that PINION_VECTORS names.
class Vectors {
 public:
  template <class T>
  static std::vector<T> get(const std::string &name) {
    static const Vectors all;
    const auto found = all.arrays_.find(name);
    if (found == all.arrays_.end()) throw std::runtime_error("no vectors of " + name);
    if (found->second.size() % sizeof(T)) throw std::runtime_error("vectors of " + name + " aren't of that type");
    std::vector<T> values(found->second.size() / sizeof(T));
    if (!values.empty()) std::memcpy(static_cast<void *>(values.data()), found->second.data(), found->second.size());
    return values;
  }

 private:
  Vectors() {
    const char *path = std::getenv("PINION_VECTORS");
    if (!path) path = "build/vectors";
    std::FILE *file = std::fopen(path, "rb");
    if (!file) throw std::runtime_error(std::string("no vectors in ") + path + ": go run ./csrc/test/vectors writes them");
    uint32_t nameLength;
    uint64_t size;
    while (std::fread(&nameLength, sizeof nameLength, 1, file) == 1) {
      std::string name(nameLength, 0);
      std::vector<unsigned char> bytes;
      bool whole = std::fread(&name[0], 1, nameLength, file) == nameLength && std::fread(&size, sizeof size, 1, file) == 1;
      if (whole) bytes.resize(size);
      if (!whole || std::fread(bytes.data(), 1, size, file) != size) throw std::runtime_error(std::string(path) + " is cut short");
      arrays_[name] = std::move(bytes);
    }
    std::fclose(file);
  }

  std::map<std::string, std::vector<unsigned char>> arrays_;
};
