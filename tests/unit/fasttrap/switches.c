/* SPDX-License-Identifier: MIT */
/*
 * Switch statements, compiled with several flags. SUFFIX makes the names unique. No
 * entry of a jump table leads out of its function.
 */
#define JOIN2(a, b) a##b
#define JOIN(a, b) JOIN2(a, b)
#define NAME(x) JOIN(x, SUFFIX)

int NAME(sink_)(int);
extern int (*NAME(hook_))(int);
extern int (*const NAME(array_)[8])(int);

__attribute__((noipa)) int NAME(dense_switch_)(int kind, int a, int b)
{
    switch (kind) {
    case 0: return a + b;
    case 1: return a - b;
    case 2: return a * b + NAME(sink_)(a);
    case 3: return a & b;
    case 4: return NAME(sink_)(b) + a;
    case 5: return a ^ b;
    case 6: return NAME(sink_)(a) * 3;
    case 7: return b << 3;
    case 8: return NAME(sink_)(a + b) - 1;
    case 9: return a / 7;
    default: return -1;
    }
}

/* The compiler loads the address of this switch's table before the loop. */
__attribute__((noipa)) int NAME(loop_switch_)(const unsigned char* text, int n)
{
    int sum = 0;
    for (int i = 0; i < n; ++i) {
        switch (text[i]) {
        case 10: sum += 3; break;
        case 11: sum *= 5; break;
        case 12: sum -= NAME(sink_)(sum); break;
        case 13: sum ^= 0x55; break;
        case 14: sum = NAME(sink_)(sum) | 1; break;
        case 15: sum <<= 1; break;
        case 16: sum += NAME(sink_)(i); break;
        case 17: sum /= 3; break;
        default: break;
        }
    }
    return sum;
}

__attribute__((noipa)) int NAME(computed_goto_)(const unsigned char* program)
{
    static const void* const labels[] = {&&add, &&sub, &&mul, &&halt};
    int acc = 1;
    goto *labels[*program++ & 3];
add:
    acc += 7;
    goto *labels[*program++ & 3];
sub:
    acc -= NAME(sink_)(acc);
    goto *labels[*program++ & 3];
mul:
    acc *= 3;
    goto *labels[*program++ & 3];
halt:
    return acc;
}

__attribute__((noipa)) int NAME(tail_through_pointer_)(int a)
{
    return NAME(hook_)(a + 1);
}

__attribute__((noipa)) int NAME(plain_loop_)(int n)
{
    int sum = 0;
    while (n > 0)
        sum += n-- * 3;
    return sum;
}

__attribute__((noipa)) int NAME(sink_)(int a)
{
    return a * 2;
}
int (*NAME(hook_))(int) = NAME(sink_);
