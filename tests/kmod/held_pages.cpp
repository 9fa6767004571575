// SPDX-License-Identifier: MIT
// held_pages claim|userfaultfd|fuse: makes the kernel wait for pages of memory.
//
//   claim        A DTK_CLAIM waits for a page. Meanwhile, other threads request an
//                arena, probes and a timer from the same open device. The claim then
//                replaces the device's consumer, and the other requests must use the
//                new consumer. At the end, the device is closed.
//   userfaultfd  Calls the traced function reads() with a page that never becomes
//                available.
//   fuse         Calls reads() with a page of a FUSE file. The file's server never
//                replies to read requests.
//
// Prints the results. The test fails if the kernel hangs or uses freed memory.
#include "abi/ioctl.h"

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <functional>
#include <linux/fuse.h>
#include <linux/userfaultfd.h>
#include <string>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

constexpr std::size_t page = 4096;

void require(bool holds, const char* what)
{
    if (holds)
        return;
    std::perror(what);
    std::exit(2);
}

// Pages that are not available until serve() is called.
class LatePages {
public:
    explicit LatePages(std::size_t bytes) : bytes_(bytes)
    {
        fd_ = static_cast<int>(::syscall(SYS_userfaultfd, O_CLOEXEC));
        uffdio_api api{};
        api.api = UFFD_API;
        require(fd_ >= 0 && ::ioctl(fd_, UFFDIO_API, &api) == 0, "userfaultfd");
        at_ = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        uffdio_register range{};
        range.range = {reinterpret_cast<std::uint64_t>(at_), bytes};
        range.mode = UFFDIO_REGISTER_MODE_MISSING;
        require(at_ != MAP_FAILED && ::ioctl(fd_, UFFDIO_REGISTER, &range) == 0,
                "register");
    }
    void wait_until_missed()
    {
        uffd_msg message{};
        require(::read(fd_, &message, sizeof message) == sizeof message,
                "read userfaultfd");
    }
    void serve()
    {
        uffdio_zeropage zero{};
        zero.range = {reinterpret_cast<std::uint64_t>(at_), bytes_};
        require(::ioctl(fd_, UFFDIO_ZEROPAGE, &zero) == 0, "serve");
    }
    void* at() const { return at_; }

private:
    std::size_t bytes_;
    int fd_;
    void* at_;
};

// Starts a thread and waits until it sleeps.
std::thread sleeping(const std::function<void()>& run)
{
    int tid = 0;
    std::thread thread([&tid, run] {
        __atomic_store_n(&tid, ::gettid(), __ATOMIC_RELEASE);
        run();
    });
    while (__atomic_load_n(&tid, __ATOMIC_ACQUIRE) == 0)
        ::usleep(1000);
    const std::string path = "/proc/self/task/" + std::to_string(tid) + "/stat";
    for (int i = 0; i < 5000; i++) {
        std::string text;
        std::getline(std::ifstream(path), text);
        if (text.find(") S ") != std::string::npos)
            break;
        ::usleep(1000);
    }
    return thread;
}

int claim()
{
    const int device = ::open(DTK_DEVICE, O_RDWR | O_CLOEXEC);
    require(device >= 0, DTK_DEVICE);
    LatePages pages(1 << 20);
    auto say = [](const char* what, int result) {
        std::printf("%s: %s\n", what, result == 0 ? "done" : std::strerror(errno));
    };
    std::thread claimer([&] {
        dtk_claim request{};
        request.file = reinterpret_cast<std::uint64_t>(pages.at());
        request.file_bytes = 1 << 20;
        say("claim", ::ioctl(device, DTK_CLAIM, &request));
    });
    pages.wait_until_missed();
    std::vector<std::thread> threads;
    threads.push_back(sleeping([&] {
        dtk_arena request{};
        for (dt_u64& option : request.config.options)
            option = DT_OPT_UNSET;
        request.config.options[DTRACEOPT_bufsize] = 65536;
        request.config.options[DTRACEOPT_aggsize] = 65536;
        request.config.options[DTRACEOPT_dynvarsize] = 65536;
        request.config.max_probes = request.config.max_ecbs = 64;
        say("arena", ::ioctl(device, DTK_ARENA, &request));
    }));
    threads.push_back(sleeping([&] {
        static const char names[] = "late\0\0\0probe";
        dtk_list list{reinterpret_cast<dt_u64>(names), sizeof names, 1, 0};
        ::ioctl(device, DTK_PROBES, &list);
    }));
    threads.push_back(sleeping([&] {
        dtk_site site{1, DTK_PROFILE, 1'000'000, 0, 0, 0};
        dtk_list list{reinterpret_cast<dt_u64>(&site), sizeof site, 1, 0};
        ::ioctl(device, DTK_ATTACH, &list);
    }));
    pages.serve();
    claimer.join();
    for (std::thread& thread : threads)
        thread.join();
    ::close(device);
    ::usleep(500'000); // if the timer still ran, it would now use freed memory
    std::puts("closed");
    return 0;
}

} // namespace

extern "C" __attribute__((noinline)) long reads(const char* text)
{
    __asm__ volatile("" : : "r"(text) : "memory");
    return 7;
}

namespace {

template <class Reply>
void answer(int device, const fuse_in_header& to, const Reply& reply)
{
    struct {
        fuse_out_header header;
        Reply reply;
    } out{{static_cast<std::uint32_t>(sizeof(fuse_out_header) + sizeof reply), 0,
           to.unique},
          reply};
    // Do not write the padding at the end of `out`.
    require(::write(device, &out, out.header.len) ==
                static_cast<ssize_t>(out.header.len),
            "answer FUSE");
}

// Serves a file system with one file. Never replies to a read of the file.
void serve_fuse(int device)
{
    alignas(8) static char request[1 << 17];
    for (;;) {
        if (::read(device, request, sizeof request) < 0)
            return;
        fuse_in_header in;
        std::memcpy(&in, request, sizeof in);
        if (in.opcode == FUSE_INIT) {
            fuse_init_out init{};
            init.major = FUSE_KERNEL_VERSION;
            init.minor = 31;
            init.max_readahead = init.max_write = page;
            answer(device, in, init);
        } else if (in.opcode == FUSE_GETATTR) {
            fuse_attr_out attr{};
            attr.attr_valid = 100;
            attr.attr.ino = 1;
            attr.attr.mode = S_IFREG | 0644;
            attr.attr.nlink = 1;
            attr.attr.size = page;
            answer(device, in, attr);
        } else if (in.opcode == FUSE_OPEN) {
            answer(device, in, fuse_open_out{});
        } else if (in.opcode != FUSE_READ && in.opcode != FUSE_RELEASE &&
                   in.opcode != FUSE_FORGET && in.opcode != FUSE_INTERRUPT) {
            const fuse_out_header refused{sizeof refused, -ENOSYS, in.unique};
            require(::write(device, &refused, sizeof refused) == sizeof refused,
                    "refuse");
        }
    }
}

const char* page_of_fuse()
{
    const int device = ::open("/dev/fuse", O_RDWR | O_CLOEXEC);
    require(device >= 0, "/dev/fuse");
    const char* place = "/tmp/held";
    ::close(::open(place, O_CREAT | O_RDWR, 0600));
    const std::string data =
        "fd=" + std::to_string(device) + ",rootmode=100644,user_id=0,group_id=0";
    require(::mount("held", place, "fuse", MS_NOSUID, data.c_str()) == 0, "mount fuse");
    std::thread([device] { serve_fuse(device); }).detach();
    const int file = ::open(place, O_RDONLY | O_CLOEXEC);
    require(file >= 0, place);
    void* at = ::mmap(nullptr, page, PROT_READ, MAP_PRIVATE, file, 0);
    require(at != MAP_FAILED, "map a file of fuse");
    // Close the file now. At exit, no thread would reply to the flush request.
    ::close(file);
    return static_cast<const char*>(at);
}

int call(const char* text)
{
    long sum = 0;
    for (int i = 0; i < 3; i++)
        sum += reads(text);
    std::printf("sum %ld\n", sum);
    std::fflush(stdout);
    ::umount2("/tmp/held", MNT_DETACH);
    ::_exit(0);
}

} // namespace

int main(int argc, char** argv)
{
    const std::string mode = argc > 1 ? argv[1] : "";
    std::setvbuf(stdout, nullptr, _IOLBF, 0);
    if (mode == "claim")
        return claim();
    if (mode == "userfaultfd") {
        LatePages pages(page);
        return call(static_cast<const char*>(pages.at()));
    }
    if (mode == "fuse")
        return call(page_of_fuse());
    std::fprintf(stderr, "usage: held_pages claim|userfaultfd|fuse\n");
    return 2;
}
