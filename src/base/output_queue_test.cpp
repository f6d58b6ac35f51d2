#include "base/output_queue.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace leantea::base {
namespace {

constexpr std::size_t kBlock = BlockPool::kBlockBytes;
constexpr std::size_t kLong = OutputQueue::kCopyBytes + 100;  // more than is copied

std::string pattern(std::size_t bytes, unsigned seed = 1) {
  std::string s(bytes, '\0');
  std::minstd_rand random(seed);
  for (char& c : s) c = static_cast<char>('a' + random() % 26);
  return s;
}

/// A queue with its pool, and what a kernel would do with it.
struct OutputQueueTest : testing::Test {
  void TearDown() override { queue.clear(pool); }

  void reserve_and_commit(std::string_view bytes) {
    bytes.copy(queue.reserve(pool, bytes.size()), bytes.size());
    queue.commit(bytes.size());
  }

  std::vector<std::string_view> pieces(std::size_t most = 64) const {
    std::vector<iovec> out(most);
    const std::size_t count = queue.gather(out).count;
    std::vector<std::string_view> views;
    views.reserve(count);
    for (std::size_t i = 0; i < count; ++i)
      views.emplace_back(static_cast<const char*>(out[i].iov_base), out[i].iov_len);
    return views;
  }

  /// All bytes, taken in as many turns as it needs.
  std::string drain() {
    std::string all;
    while (!queue.empty()) {
      std::size_t taken = 0;
      for (const std::string_view piece : pieces(4)) {
        all += piece;
        taken += piece.size();
      }
      queue.consume(pool, taken);
    }
    return all;
  }

  BlockPool pool;
  OutputQueue queue;
};

using OutputQueueDeathTest = OutputQueueTest;

TEST_F(OutputQueueTest, IsEmptyAtFirst) {
  EXPECT_TRUE(queue.empty());
  EXPECT_EQ(queue.size(), 0u);
  EXPECT_TRUE(pieces().empty());
  queue.consume(pool, 0);
  queue.clear(pool);
}

TEST_F(OutputQueueTest, AnswersOfOneBatchAreOnePiece) {
  for (int i = 0; i < 16; ++i) reserve_and_commit("HTTP/1.1 200 OK\r\n\r\n");
  queue.append(pool, "tail");
  ASSERT_EQ(pieces().size(), 1u);
  EXPECT_EQ(pieces()[0].size(), 16 * 19 + 4u);
  EXPECT_EQ(queue.size(), 16 * 19 + 4u);
}

TEST_F(OutputQueueTest, ReservedBytesAreNotAppendedBeforeCommit) {
  char* space = queue.reserve(pool, 100);
  EXPECT_TRUE(queue.empty());
  EXPECT_TRUE(pieces().empty());
  EXPECT_EQ(queue.reserve(pool, 100), space);
  space[0] = 'x';
  queue.commit(1);
  EXPECT_EQ(drain(), "x");
}

TEST_F(OutputQueueTest, OneReserveIsNeverSplit) {
  reserve_and_commit(pattern(kBlock - 10));
  const std::string eleven = pattern(11, 2);
  reserve_and_commit(eleven);
  ASSERT_EQ(pieces().size(), 2u);
  EXPECT_EQ(pieces()[1], eleven);
  reserve_and_commit(pattern(kBlock));
  EXPECT_EQ(pieces().size(), 3u);
}

TEST_F(OutputQueueTest, AppendFillsBlocksToTheirEnd) {
  queue.append(pool, "x");
  const std::string bytes = pattern(3 * kBlock);
  queue.append(pool, bytes);
  ASSERT_EQ(pieces().size(), 4u);
  EXPECT_EQ(pieces()[0].size(), kBlock);
  EXPECT_EQ(pieces()[3].size(), 1u);
  EXPECT_EQ(drain(), "x" + bytes);
}

TEST_F(OutputQueueTest, NothingAppendedTakesNoMemory) {
  queue.append(pool, {});
  queue.append_owned({});
  queue.append_shared(nullptr, {});
  queue.append_shared(std::make_shared<int>(1), "");
  EXPECT_TRUE(queue.empty());
  EXPECT_TRUE(pieces().empty());
  EXPECT_EQ(pool.free_count(), 0u);
}

TEST_F(OutputQueueTest, LongOwnedStringIsNotCopied) {
  reserve_and_commit("head ");
  std::string body = pattern(100'000);
  const auto place = reinterpret_cast<std::uintptr_t>(body.data());
  queue.append_owned(std::move(body));
  ASSERT_EQ(pieces().size(), 2u);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(pieces()[1].data()), place);
  EXPECT_EQ(pieces()[1], pattern(100'000));
}

TEST_F(OutputQueueTest, ShortOwnedStringGoesIntoTheBlock) {
  reserve_and_commit("head ");
  queue.append_owned(pattern(OutputQueue::kCopyBytes));
  EXPECT_EQ(pieces().size(), 1u);
  EXPECT_EQ(drain(), "head " + pattern(OutputQueue::kCopyBytes));
}

TEST_F(OutputQueueTest, ShortOwnedStringStandsAloneWhereNoBlockHasRoom) {
  queue.append_owned("alone");  // fits inside std::string itself: its bytes move with it
  reserve_and_commit(pattern(kBlock));
  queue.append_owned("second");
  ASSERT_EQ(pieces().size(), 3u);
  EXPECT_EQ(drain(), "alone" + pattern(kBlock) + "second");
}

TEST_F(OutputQueueTest, SharedBytesAreKeptUntilConsumedAndNoLonger) {
  auto owner = std::make_shared<std::string>(pattern(kLong));
  queue.append_shared(owner, *owner);
  EXPECT_EQ(owner.use_count(), 2);
  EXPECT_EQ(pieces().at(0).data(), owner->data());
  queue.consume(pool, kLong - 1);
  EXPECT_EQ(owner.use_count(), 2);
  queue.consume(pool, 1);
  EXPECT_EQ(owner.use_count(), 1);
}

TEST_F(OutputQueueTest, ShortSharedBytesAreCopiedAndTheOwnerLetGo) {
  auto owner = std::make_shared<std::string>("short");
  reserve_and_commit("a ");
  queue.append_shared(owner, *owner);
  EXPECT_EQ(owner.use_count(), 1);
  EXPECT_EQ(drain(), "a short");
}

TEST_F(OutputQueueTest, StaticBytesNeedNoOwner) {
  static const std::string kBytes = pattern(5000);
  queue.append_shared(nullptr, kBytes);
  EXPECT_EQ(pieces().at(0).data(), kBytes.data());
  EXPECT_EQ(drain(), kBytes);
}

TEST_F(OutputQueueTest, NothingIsWrittenBehindForeignBytes) {
  const std::string before = pattern(kLong);
  std::string foreign = pattern(kLong);
  queue.append_shared(nullptr, std::string_view(foreign).substr(0, 500));
  queue.append(pool, "0123456789");
  reserve_and_commit("0123456789");
  EXPECT_EQ(foreign, before);
  EXPECT_EQ(drain(), before.substr(0, 500) + "01234567890123456789");
}

// Invariants 1 and 2: io_uring sends from these bytes while answers are appended behind them.
TEST_F(OutputQueueTest, ShownBytesStayWhereTheyAre) {
  reserve_and_commit("first ");
  queue.append_owned(pattern(kLong));
  reserve_and_commit("third ");
  const auto shown = pieces();
  const std::vector<std::string> bytes(shown.begin(), shown.end());
  for (int i = 0; i < 100; ++i) reserve_and_commit(pattern(300));
  queue.append_owned(pattern(9000));
  queue.append(pool, pattern(9000));
  OutputQueue other;
  other.append(pool, pattern(100));
  queue.splice(other);
  const auto later = pieces(3);
  ASSERT_EQ(later.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(later[i].data(), shown[i].data());
    EXPECT_EQ(shown[i], bytes[i]);  // as they were when shown, without what came behind
    EXPECT_TRUE(later[i].starts_with(bytes[i]));
  }
}

TEST_F(OutputQueueTest, ConsumedAnywhereTheRestFollows) {
  const std::string all =
      "abc" + pattern(kLong) + "def" + pattern(kLong, 2) + pattern(2 * kBlock, 3);
  for (std::size_t at = 0; at <= all.size(); ++at) {
    queue.append(pool, "abc");
    queue.append_owned(pattern(kLong));
    queue.append(pool, "def");
    queue.append_shared(nullptr, std::string_view(all).substr(6 + kLong, kLong));
    queue.append(pool, pattern(2 * kBlock, 3));
    queue.consume(pool, at);
    ASSERT_EQ(queue.size(), all.size() - at);
    ASSERT_EQ(drain(), std::string_view(all).substr(at)) << at;
  }
}

TEST_F(OutputQueueTest, GatherShowsNoMoreThanAskedFor) {
  for (int i = 0; i < 10; ++i) queue.append_owned(pattern(kLong));
  std::array<iovec, 3> out{};
  EXPECT_EQ(queue.gather(out).count, 3u);
  EXPECT_EQ(queue.gather({}).count, 0u);
}

TEST_F(OutputQueueTest, EmptyQueueOwnsNoBlock) {
  reserve_and_commit(pattern(10));
  EXPECT_EQ(pool.free_count(), 0u);
  queue.consume(pool, 10);
  EXPECT_EQ(pool.free_count(), 1u);

  queue.append(pool, pattern(3 * kBlock));
  queue.consume(pool, kBlock + 1);
  EXPECT_EQ(pool.free_count(), 1u);  // a block goes back with its last byte
  queue.clear(pool);
  EXPECT_EQ(pool.free_count(), 3u);
}

TEST_F(OutputQueueTest, UnusedReservationsGoBackToo) {
  queue.reserve(pool, 10);
  queue.consume(pool, 0);
  EXPECT_EQ(pool.free_count(), 1u);

  queue.reserve(pool, 10);  // this block stays without a byte, in the middle
  queue.append_owned(pattern(kLong));
  queue.reserve(pool, 10);
  EXPECT_EQ(pieces().size(), 1u);
  EXPECT_EQ(drain(), pattern(kLong));
  EXPECT_EQ(pool.free_count(), 2u);

  OutputQueue unused;  // given to the heap: its destructor has no pool
  unused.reserve(pool, 10);
}

TEST_F(OutputQueueTest, SpliceMovesAllBehindTheLastByte) {
  OutputQueue other;
  queue.splice(other);
  EXPECT_TRUE(queue.empty());

  other.append(pool, "one ");
  other.append_owned(pattern(kLong));
  queue.splice(other);
  EXPECT_TRUE(other.empty());
  EXPECT_EQ(queue.size(), 4 + kLong);

  other.append(pool, " two");
  other.append(pool, " three");
  queue.splice(other);
  queue.append(pool, " four");
  queue.splice(other);
  EXPECT_EQ(drain(), "one " + pattern(kLong) + " two three four");
}

TEST_F(OutputQueueTest, PoolGivesBackTheWarmestBlock) {
  OutputNode* a = pool.take();
  OutputNode* b = pool.take();
  pool.give(a);
  pool.give(b);
  EXPECT_EQ(pool.take(), b);
  EXPECT_EQ(pool.take(), a);
  pool.give(a);
  pool.give(b);
}

TEST_F(OutputQueueTest, AnswersThatAreTakenAtOnceAllocateNothing) {
  reserve_and_commit("warm");
  const char* const place = pieces().at(0).data();
  queue.consume(pool, 4);
  for (int i = 0; i < 1000; ++i) {
    reserve_and_commit("HTTP/1.1 200 OK\r\n\r\n");
    EXPECT_EQ(pieces().at(0).data(), place);
    EXPECT_EQ(pool.free_count(), 0u);
    queue.consume(pool, queue.size());
    EXPECT_EQ(pool.free_count(), 1u);
  }
}

#ifdef LEANTEA_POISON_FREE_BLOCKS
TEST_F(OutputQueueDeathTest, AddressSanitizerSeesBytesThatWereConsumed) {
  reserve_and_commit("sent");
  const std::string_view shown = pieces().at(0);
  queue.consume(pool, 4);
  EXPECT_DEATH(std::string{shown}, "use-after-poison");
}
#endif

TEST_F(OutputQueueTest, PoolKeepsABoundedNumberOfBlocks) {
  queue.append(pool, pattern(2 * BlockPool::kKeep * kBlock));
  queue.clear(pool);
  EXPECT_EQ(pool.free_count(), BlockPool::kKeep);
}

TEST_F(OutputQueueDeathTest, RefusesWhatCannotBe) {
  EXPECT_DEATH(queue.reserve(pool, kBlock + 1), "kBlockBytes");
  EXPECT_DEATH(queue.commit(1), "tail_");
  reserve_and_commit("abc");
  EXPECT_DEATH(queue.commit(kBlock), "room");
  EXPECT_DEATH(queue.consume(pool, 4), "size_");
  EXPECT_DEATH(queue.splice(queue), "this");
}

/// Two queues under random operations, each beside a string that says what it must hold.
struct OutputQueueModelTest : OutputQueueTest {
  struct Side {
    OutputQueue& queue;
    std::string& model;
  };

  void append_somehow(Side to) {
    static constexpr std::size_t kMost[] = {4, 300, 5000, 20'000};
    std::string bytes = pattern(random() % kMost[random() % 4], static_cast<unsigned>(random()));
    switch (random() % 4) {
      case 0: {
        bytes.resize(std::min(bytes.size(), kBlock));
        char* space = to.queue.reserve(pool, std::min(kBlock, bytes.size() + random() % 3));
        bytes.copy(space, bytes.size());
        if (random() % 8 == 0) bytes.clear();  // changed its mind
        to.queue.commit(bytes.size());
        to.model += bytes;
        break;
      }
      case 1:
        to.queue.append(pool, bytes);
        to.model += bytes;
        break;
      case 2:
        to.model += bytes;
        to.queue.append_owned(std::move(bytes));
        break;
      default:
        to.model += bytes;
        if (random() % 2 == 0) {
          auto owner = std::make_shared<const std::string>(std::move(bytes));
          to.queue.append_shared(owner, *owner);
        } else {
          to.queue.append_shared(nullptr, statics.emplace_back(std::move(bytes)));
        }
    }
  }

  void step() {
    switch (random() % 8) {
      case 0:
        append_somehow({other, other_model});
        break;
      case 1:
        queue.splice(other);
        model += std::exchange(other_model, {});
        break;
      case 2:
      case 3:
      case 4: {
        const std::size_t bytes = random() % 3 == 0 ? model.size() : random() % (model.size() + 1);
        queue.consume(pool, bytes);
        model.erase(0, bytes);
        break;
      }
      default:
        append_somehow({queue, model});
    }
  }

  std::mt19937 random;
  std::string model;
  OutputQueue other;
  std::string other_model;
  std::deque<std::string> statics;  // deque: appended strings keep their places
};

TEST_F(OutputQueueModelTest, BehavesAsAString) {
  for (int i = 0; i < 16'000; ++i) {
    step();
    ASSERT_EQ(queue.size(), model.size());
    ASSERT_EQ(queue.empty(), model.empty());
    std::string shown;
    for (const std::string_view piece : pieces(1000)) {
      ASSERT_FALSE(piece.empty());
      shown += piece;
    }
    ASSERT_EQ(shown, model) << "step " << i;
    if (i % 400 == 0) {
      queue.clear(pool);
      model.clear();
    }
  }
  other.clear(pool);
}

}  // namespace
}  // namespace leantea::base
