// Phases: how long each step of one compile took, in milliseconds.
#pragma once

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace suture {

class Phases {
 public:
  class Timer {
   public:
    Timer(Phases& phases, std::string name)
        : phases_(&phases), name_(std::move(name)), start_(Clock::now()) {}
    Timer(Timer&& other) noexcept
        : phases_(std::exchange(other.phases_, nullptr)),
          name_(std::move(other.name_)),
          start_(other.start_) {}
    Timer& operator=(Timer&&) = delete;
    ~Timer() { stop(); }
    void stop() {
      if (Phases* phases = std::exchange(phases_, nullptr))
        phases->add(name_, std::chrono::duration<double, std::milli>(Clock::now() - start_).count());
    }

   private:
    using Clock = std::chrono::steady_clock;
    Phases* phases_;
    std::string name_;
    Clock::time_point start_;
  };

  Timer start(std::string name) { return Timer(*this, std::move(name)); }
  void add(const std::string& name, double ms) {
    for (auto& [known, total] : phases_) {
      if (known == name) {
        total += ms;
        return;
      }
    }
    phases_.emplace_back(name, ms);
  }
  double get(const std::string& name) const {
    for (const auto& [known, total] : phases_)
      if (known == name) return total;
    return 0;
  }
  const std::vector<std::pair<std::string, double>>& all() const { return phases_; }

 private:
  std::vector<std::pair<std::string, double>> phases_;
};

}  // namespace suture
