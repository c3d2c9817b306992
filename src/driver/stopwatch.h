// Phases: how long each step of one compile took, in milliseconds. What happens during a pause took no time.
#pragma once

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace suture {

class Phases {
  using Clock = std::chrono::steady_clock;

 public:
  class Timer {
   public:
    Timer(Phases& phases, std::string name) : phases_(&phases), name_(std::move(name)), start_(phases.now()) {
      phases.note_start(name_, start_);
    }
    Timer(Timer&& other) noexcept
        : phases_(std::exchange(other.phases_, nullptr)),
          name_(std::move(other.name_)),
          start_(other.start_) {}
    Timer& operator=(Timer&&) = delete;
    ~Timer() { stop(); }
    void stop() {
      if (Phases* phases = std::exchange(phases_, nullptr))
        phases->add(name_, std::chrono::duration<double, std::milli>(phases->now() - start_).count());
    }

   private:
    Phases* phases_;
    std::string name_;
    Clock::time_point start_;
  };

  class Pause {
   public:
    explicit Pause(Phases& phases) : phases_(phases), begin_(Clock::now()) {}
    ~Pause() { phases_.paused_ += Clock::now() - begin_; }
    Pause(const Pause&) = delete;
    Pause& operator=(const Pause&) = delete;

   private:
    Phases& phases_;
    Clock::time_point begin_;
  };

  Pause pause() { return Pause(*this); }  // ends with its scope
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
  // When each phase started first, in milliseconds from the start of the first one.
  const std::vector<std::pair<std::string, double>>& starts() const { return starts_; }

 private:
  void note_start(const std::string& name, Clock::time_point now) {
    if (starts_.empty()) origin_ = now;
    for (const auto& [known, at] : starts_)
      if (known == name) return;
    starts_.emplace_back(name, std::chrono::duration<double, std::milli>(now - origin_).count());
  }

  Clock::time_point now() const { return Clock::now() - paused_; }

  Clock::time_point origin_;
  Clock::duration paused_{};
  std::vector<std::pair<std::string, double>> starts_;
  std::vector<std::pair<std::string, double>> phases_;
};

}  // namespace suture
