// SPDX-License-Identifier: MIT
// regs ROUNDS [SEED [ac]] passes random states of all registers, and of the red zone,
// through probed(). Prints each register that has changed.
#include <cpuid.h>
#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

enum { red_zone = 128, stack_bytes = 8192, state_bytes = 8192 };

struct state {
    uint8_t xsave[4096];
    uint64_t gpr[15]; // rax rbx rcx rdx rsi rdi rbp r8..r15
    uint64_t flags, rsp, fs_base, gs_base;
    uint8_t pad[state_bytes - 4096 - 19 * 8];
};
_Static_assert(sizeof(struct state) == state_bytes, "as regs.S has it");

void pass(struct state* s);

static struct state states[2] __attribute__((aligned(64)));
static uint8_t stack[stack_bytes] __attribute__((aligned(64)));
static uint64_t seed;

// Whether the kernel keeps bases that a program has written. Without
// HWCAP2_FSGSBASE, the instruction may exist, but a context switch discards the base.
static int keeps_bases;

static uint64_t any(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed * 0x2545f4914f6cdd1dull;
}

static void fill(void* to, size_t n)
{
    for (size_t i = 0; i < n; ++i)
        ((uint8_t*)to)[i] = (uint8_t)any();
}

// Stores the offset and the size in bytes of a component of the XSAVE area. The size is
// 0 if the processor lacks the component.
static void part(unsigned number, unsigned* at, unsigned* bytes)
{
    unsigned a, b, c, d;
    __cpuid_count(13, number, a, b, c, d);
    *at = b, *bytes = a;
}

static unsigned fill_xsave(uint8_t* x, uint64_t supported)
{
    enum { ymm_upper = 2, masks = 5, zmm_upper = 6, zmm_16_to_31 = 7 };
    static const unsigned wide[] = {ymm_upper, masks, zmm_upper, zmm_16_to_31};
    uint64_t used = 3;
    memset(x, 0, 4096);
    if (any() & 1) { // the x87 stack is full
        fill(x + 32, 128);
        for (int i = 0; i < 8; ++i)
            memset(x + 32 + 16 * i + 10, 0, 6);
        x[4] = 0xff;
    }
    uint16_t control = (uint16_t)(0x37f & ~(any() & 0xc00)); // precision, rounding
    memcpy(x, &control, 2);
    uint32_t mxcsr = 0x1f80 ^ (uint32_t)(any() & 0xffc0); // masks, rounding, DAZ, FTZ
    memcpy(x + 24, &mxcsr, 4);
    fill(x + 160, 256);
    for (unsigned i = 0; i < 4; ++i) {
        unsigned at, bytes;
        part(wide[i], &at, &bytes);
        // The upper half of a zmm register is never in use without the upper half of
        // the ymm register. AMD processors do not preserve such a state.
        int alone = wide[i] == zmm_upper && (used >> ymm_upper & 1) == 0;
        if ((supported >> wide[i] & 1) == 0 || (any() & 1) || at + bytes > 4096 || alone)
            continue;
        fill(x + at, bytes);
        used |= 1ull << wide[i];
    }
    memcpy(x + 512, &used, 8);
    return (unsigned)used;
}

static int is_zero(const uint8_t* xsave, unsigned k)
{
    unsigned at, bytes;
    part(k, &at, &bytes);
    while (bytes-- > 0)
        if (xsave[at + bytes] != 0)
            return 0;
    return 1;
}

static long differences(const struct state* in, const struct state* out)
{
    long n = 0;
    for (int i = 0; i < 15; ++i) {
        uint64_t want = in->gpr[i];
        if (i == 11) // r12, which probed() loads from the red zone
            memcpy(&want, (void*)(in->rsp - 8 - 80), 8);
        if (out->gpr[i] != want) {
            printf("register %d: %lx not %lx\n", i, out->gpr[i], want);
            ++n;
        }
    }
    if (out->flags != in->flags || out->rsp != in->rsp || out->gs_base != in->gs_base ||
        (in->fs_base != 1 && out->fs_base != in->fs_base)) {
        printf("flags %lx not %lx, rsp %lx not %lx, gs %lx not %lx, fs %lx not %lx\n",
               out->flags, in->flags, out->rsp, in->rsp, out->gs_base, in->gs_base,
               out->fs_base, in->fs_base);
        ++n;
    }
    return n;
}

int main(int argc, char** argv)
{
    keeps_bases = (getauxval(AT_HWCAP2) & 2) != 0;
    long rounds = argc > 1 ? atol(argv[1]) : 1000, n_odd = 0;
    uint64_t supported = __builtin_ia32_xgetbv(0) & 0xe7;
    int with_ac = argc > 3;
    seed = argc > 2 ? strtoull(argv[2], NULL, 0) : 88172645463325252ull;
    for (long i = 0; i < rounds; ++i) {
        struct state *in = &states[0], *out = &states[1];
        uint8_t red[red_zone], before[4096];
        unsigned used = fill_xsave(in->xsave, supported);
        fill(in->gpr, sizeof in->gpr);
        // With the argument "ac", the flag AC (alignment check) is sometimes set.
        in->flags =
            0x202 | (any() & 0x200cd5) | (with_ac && any() % 8 == 0 ? 0x40000 : 0);
        // If AC is set, an unaligned stack would cause a fault even without a probe.
        in->rsp = (uint64_t)stack + stack_bytes / 2 + (any() & 63);
        if (in->flags & 0x40000)
            in->rsp &= ~7ull;
        in->gs_base = any() >> 20;
        in->fs_base = any() % 4 == 0 ? any() >> 20 : any() % 4 == 0 ? 0 : 1;
        if (!keeps_bases) {
            in->gs_base = 0;
            in->fs_base = 1;
        }
        fill(stack, stack_bytes);
        memcpy(red, (void*)(in->rsp - 8 - red_zone), red_zone);
        memset(out, 0, sizeof *out);
        memcpy(before, in->xsave, sizeof before);
        pass(in);
        if (n_odd > 20)
            break;
        n_odd += differences(in, out);
        // If a component is all zeros, the processor may report it as used or unused.
        uint64_t now;
        memcpy(&now, out->xsave + 512, 8);
        for (unsigned k = 2; k < 8; ++k)
            if ((now & 0xe4 & ~(uint64_t)used) >> k & 1 && !is_zero(out->xsave, k)) {
                printf("part %u in use: %lx not %x\n", k, now, used);
                ++n_odd;
            }
        if (memcmp(before + 160, out->xsave + 160, 256) != 0 ||
            memcmp(before, out->xsave, 5) != 0 ||
            memcmp(before + 24, out->xsave + 24, 4) != 0 ||
            memcmp(before + 32, out->xsave + 32, 128) != 0) {
            printf("x87, mxcsr or xmm\n");
            ++n_odd;
        }
        for (unsigned k = 2; k < 8; ++k) {
            unsigned at, bytes;
            part(k, &at, &bytes);
            if ((used >> k & 1) && memcmp(before + at, out->xsave + at, bytes) != 0) {
                printf("part %u of the vectors\n", k);
                ++n_odd;
            }
        }
        // `red` contains the red zone of probed(). Do not compare the highest word,
        // which probed() overwrites with its push and call. Do not compare the lowest
        // word, which is below the red zone of pass().
        if (memcmp(red + 8, (void*)(in->rsp - red_zone), red_zone - 16) != 0) {
            printf("red zone\n");
            ++n_odd;
        }
    }
    printf("rounds %ld odd %ld\n", rounds, n_odd);
    return n_odd != 0;
}
