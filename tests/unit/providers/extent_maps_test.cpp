// SPDX-License-Identifier: MIT
// Tests that extents are the same, whether they are computed in advance or on request.
#include "libdtrace/providers/extent_maps.hpp"
#include "tests/unit/n_cases.hpp"

#include <gtest/gtest.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <new>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace {

using namespace dt;

constexpr std::array files = {"/usr/bin/perl", "/bin/bash", "/usr/bin/python3"};

std::vector<std::shared_ptr<ElfImage>> images_with_functions()
{
    std::vector<std::shared_ptr<ElfImage>> images;
    for (const char* path : files) {
        if (images.size() == 2 && test::few_cases())
            break;
        auto image = ElfImage::open(path);
        EXPECT_TRUE(image) << path;
        if (!image)
            continue;
        (*image)->functions();
        images.push_back(*image);
    }
    return images;
}

void expect_same(ElfImage& image, const ExtentMap* extents)
{
    std::unique_ptr<ExtentMap> alone = map_extents(image);
    ASSERT_EQ(extents != nullptr, alone != nullptr) << image.path();
    for (const Function& function : image.functions().all()) {
        TargetAddr at{function.addr};
        ASSERT_EQ(extents->extent(at), alone->extent(at))
            << image.path() << " " << std::hex << function.addr;
    }
}

TEST(ExtentMaps, WorkedOutAheadAreTheSame)
{
    auto images = images_with_functions();
    ExtentMaps maps;
    for (const auto& image : images) {
        maps.begin(image);
        maps.begin(image); // as if a second probe description had matched
    }
    // While this loop runs, the other thread computes extents.
    for (const auto& image : images)
        for (const Function& function : image->functions().all())
            (void)image->bytes(function.addr, function.n_bytes);
    for (const auto& image : images)
        expect_same(*image, maps.of(image));
}

TEST(ExtentMaps, RequestedBeforeTheirTurnAreComputedByTheCaller)
{
    auto images = images_with_functions();
    ExtentMaps maps;
    for (const auto& image : images)
        maps.begin(image);
    const ExtentMap* last = maps.of(images.back());
    expect_same(*images.back(), last);
    expect_same(*images.front(), maps.of(images.front()));
    EXPECT_EQ(maps.of(images.back()), last);
}

TEST(ExtentMaps, BegunAgainWhenTheThreadHasEnded)
{
    auto images = images_with_functions();
    ExtentMaps maps;
    for (const auto& image : images) {
        maps.begin(image);
        expect_same(*image, maps.of(image));
    }
}

TEST(ExtentMaps, ThatAreNotRequestedAreCancelled)
{
    for (int round = 0; round < 20; ++round) {
        auto images = images_with_functions();
        ExtentMaps maps;
        for (const auto& image : images)
            maps.begin(image);
    }
}

#if !defined(__SANITIZE_ADDRESS__) // the sanitizer may map memory at any time
TEST(ExtentMaps, OutOfMemoryIsReportedToTheCallerWhoCanRetry)
{
    pid_t child = fork();
    if (child == 0) {
        auto images = images_with_functions();
        ExtentMaps maps;
        rlimit before{};
        getrlimit(RLIMIT_AS, &before);
        rlimit none = before;
        none.rlim_cur = 1 << 20; // less than is mapped, so no mmap() succeeds
        setrlimit(RLIMIT_AS, &none);
        void* held = nullptr; // list of all blocks that malloc() can still allocate
        for (std::size_t n = 1 << 20; n >= 1 << 10; n /= 2)
            while (auto* block = static_cast<void**>(std::malloc(n)))
                held = (*block = held, block);
        bool failed = false;
        try {
            maps.begin(images.back());
            maps.of(images.back());
        } catch (const std::bad_alloc&) {
            failed = true;
        }
        setrlimit(RLIMIT_AS, &before);
        while (held != nullptr)
            std::free(std::exchange(held, *static_cast<void**>(held)));
        _exit(failed && maps.of(images.back()) != nullptr ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
}
#endif

// The thread that computes extents must not receive signals that are sent to the
// process, because another thread may be waiting for them.
TEST(ExtentMaps, TheirThreadTakesNoSignals)
{
    static volatile sig_atomic_t wrong_thread;
    static pthread_t self = pthread_self();
    struct sigaction count = {}, before = {};
    count.sa_handler = [](int) {
        if (pthread_equal(pthread_self(), self) == 0)
            wrong_thread = 1;
    };
    sigaction(SIGUSR1, &count, &before);
    auto images = images_with_functions();
    ExtentMaps maps;
    sigset_t blocked, old;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGUSR1);
    // Now only the thread that `maps` starts can receive the signal.
    pthread_sigmask(SIG_BLOCK, &blocked, &old);
    for (const auto& image : images)
        maps.begin(image);
    kill(getpid(), SIGUSR1);
    for (const auto& image : images)
        maps.of(image);
    pthread_sigmask(SIG_SETMASK, &old, nullptr);
    sigaction(SIGUSR1, &before, nullptr);
    EXPECT_EQ(wrong_thread, 0);
}

} // namespace
