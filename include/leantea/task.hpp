// Task: the coroutine type of handlers that wait, and what they may wait for: sleep() and offload().
//
// A Task starts when it is awaited (or when the server runs it) and runs on the thread of its
// connection's loop only. It is destroyed where it waits when its connection is gone or its deadline
// has passed: locals are destructed then, and nothing after the co_await runs. So hold what must be
// released in objects with destructors, and give nothing outside of the handler a reference to its
// locals, but for offload(), which a Task outlives: it is never destroyed before the function ended.
//
// GCC 12 compiles two things wrongly, which Clang and newer GCCs have right:
//  - a coroutine without a local variable that awaits in the condition of an `if`: write
//    `const bool slept = co_await sleep(1s); if (slept) …` there;
//  - a lambda inside an awaited expression: what it captures by value is destroyed twice. Name the lambda
//    before. offload() refuses to compile where that would matter.
#pragma once

#include <chrono>
#include <coroutine>
#include <exception>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

namespace leantea {

namespace app {
class Exchange;
}

template <class T>
class Task;

namespace detail {

/// What every Task's promise has: whose request it works for, and who waits for it.
struct PromiseBase {
  app::Exchange* exchange = nullptr;
  std::coroutine_handle<> continuation;

  struct FinalAwaiter {
    bool await_ready() const noexcept { return false; }
    template <class Promise>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> done) const noexcept {
      const std::coroutine_handle<> next = done.promise().continuation;
      return next ? next : std::noop_coroutine();
    }
    void await_resume() const noexcept {}
  };

  std::suspend_always initial_suspend() const noexcept { return {}; }
  FinalAwaiter final_suspend() const noexcept { return {}; }
};

template <class T>
struct Promise : PromiseBase {
  std::variant<std::monostate, T, std::exception_ptr> result;

  Task<T> get_return_object() noexcept;
  template <class U = T>
    requires std::is_constructible_v<T, U&&>
  void return_value(U&& value) {
    result.template emplace<1>(std::forward<U>(value));
  }
  void unhandled_exception() noexcept { result.template emplace<2>(std::current_exception()); }
  T take() {
    if (auto* error = std::get_if<2>(&result)) std::rethrow_exception(*error);
    return std::move(std::get<1>(result));
  }
};

template <>
struct Promise<void> : PromiseBase {
  std::exception_ptr error;

  Task<void> get_return_object() noexcept;
  void return_void() const noexcept {}
  void unhandled_exception() noexcept { error = std::current_exception(); }
  void take() const {
    if (error) std::rethrow_exception(error);
  }
};

/// Runs the awaited task (the child) for the request of the awaiting one (the parent).
template <class T>
struct TaskAwaiter {
  std::coroutine_handle<Promise<T>> child;

  bool await_ready() const noexcept { return false; }
  template <class Parent>
    requires std::is_base_of_v<PromiseBase, Parent>
  std::coroutine_handle<> await_suspend(std::coroutine_handle<Parent> parent) const noexcept {
    child.promise().exchange = parent.promise().exchange;
    child.promise().continuation = parent;
    return child;
  }
  T await_resume() const { return child.promise().take(); }
};

}  // namespace detail

/// The result of a coroutine that may wait. Move-only; owns the coroutine.
template <class T = void>
class [[nodiscard]] Task {
 public:
  using promise_type = detail::Promise<T>;

  Task() noexcept = default;
  explicit Task(std::coroutine_handle<promise_type> handle) noexcept : handle_(handle) {}
  Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, {})) {}
  Task& operator=(Task&& other) noexcept {
    if (this != &other) {
      reset();
      handle_ = std::exchange(other.handle_, {});
    }
    return *this;
  }
  ~Task() { reset(); }

  /// Awaiting a Task runs it for the request of the awaiting one, and gives its result or rethrows its
  /// exception. REQUIRES: not awaited before.
  detail::TaskAwaiter<T> operator co_await() && noexcept { return {handle_}; }
  detail::TaskAwaiter<T> operator co_await() & noexcept { return {handle_}; }

  // ---- For the server ----
  explicit operator bool() const noexcept { return static_cast<bool>(handle_); }
  std::coroutine_handle<promise_type> handle() const noexcept { return handle_; }
  void reset() noexcept {
    if (handle_) std::exchange(handle_, {}).destroy();
  }

 private:
  std::coroutine_handle<promise_type> handle_;
};

template <class T>
Task<T> detail::Promise<T>::get_return_object() noexcept {
  return Task<T>{std::coroutine_handle<Promise>::from_promise(*this)};
}
inline Task<void> detail::Promise<void>::get_return_object() noexcept {
  return Task<void>{std::coroutine_handle<Promise>::from_promise(*this)};
}

namespace detail {

#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ < 13
inline constexpr bool kLambdasDieTwice = true;
#else
inline constexpr bool kLambdasDieTwice = false;
#endif

/// An offloaded function: run on a worker, then handed back to the loop. Lives in the handler's frame.
class OffloadJob {
 public:
  OffloadJob() noexcept = default;
  OffloadJob(const OffloadJob&) = delete;
  OffloadJob& operator=(const OffloadJob&) = delete;
  /// On a worker thread; does not throw.
  virtual void run() noexcept = 0;

 protected:
  ~OffloadJob() = default;
};

// Implemented by the server; `exchange` is the one of the awaiting Task.
void wait_for_sleep(app::Exchange& exchange, std::coroutine_handle<> waiting,
                    std::chrono::nanoseconds duration);
bool slept_in_full(const app::Exchange& exchange) noexcept;
void wait_for_offload(app::Exchange& exchange, std::coroutine_handle<> waiting, OffloadJob& job);

struct SleepAwaiter {
  std::chrono::nanoseconds duration;
  app::Exchange* exchange = nullptr;

  bool await_ready() const noexcept { return false; }
  template <class Promise>
    requires std::is_base_of_v<PromiseBase, Promise>
  void await_suspend(std::coroutine_handle<Promise> waiting) {
    exchange = waiting.promise().exchange;
    wait_for_sleep(*exchange, waiting, duration);
  }
  bool await_resume() const noexcept { return slept_in_full(*exchange); }
};

template <class F>
class OffloadAwaiter final : public OffloadJob {
 public:
  using Result = std::invoke_result_t<F&>;

  explicit OffloadAwaiter(F&& function) : function_(std::forward<F>(function)) {}

  bool await_ready() const noexcept { return false; }
  template <class Promise>
    requires std::is_base_of_v<PromiseBase, Promise>
  void await_suspend(std::coroutine_handle<Promise> waiting) {
    wait_for_offload(*waiting.promise().exchange, waiting, *this);
  }
  Result await_resume() {
    if (error_) std::rethrow_exception(error_);
    if constexpr (!std::is_void_v<Result>) return std::move(*value_);
  }

  void run() noexcept override {
    try {
      if constexpr (std::is_void_v<Result>) {
        function_();
      } else {
        value_.emplace(function_());
      }
    } catch (...) {
      error_ = std::current_exception();
    }
  }

 private:
  using Value = std::conditional_t<std::is_void_v<Result>, std::monostate, Result>;
  F function_;
  std::optional<Value> value_;
  std::exception_ptr error_;
};

}  // namespace detail

/// Waits without holding a thread, to the millisecond. `co_await` gives true when the time passed, and
/// false when the request's stop token fired first (the wait then ends early).
inline detail::SleepAwaiter sleep(std::chrono::nanoseconds duration) noexcept { return {duration}; }

/// Runs `function` on a worker thread of the server (ServerOptions::workers) and comes back to this
/// loop with its result, or rethrows its exception. Functions wait their turn when all workers are
/// busy; at most as many wait as requests are in progress. The handler is not destroyed before the
/// function returns, so it may refer to the handler's locals. A named function (an lvalue) is run where it
/// is, a temporary one is moved.
template <class F>
detail::OffloadAwaiter<F> offload(F&& function) {
  static_assert(!detail::kLambdasDieTwice || std::is_lvalue_reference_v<F> ||
                    std::is_trivially_destructible_v<F>,
                "GCC 12 destroys what a lambda in an awaited expression captures twice: name it "
                "before, `auto f = [=] {…}; co_await offload(f);`");
  return detail::OffloadAwaiter<F>(std::forward<F>(function));
}

}  // namespace leantea
