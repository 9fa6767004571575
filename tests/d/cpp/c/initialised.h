struct address { union { unsigned char bytes[16]; unsigned words[4]; } u; };
static const int three = 3;
const char *const names[] = { "a,b", [2] = "c;d", };
static const struct address any = { { { 0, 0, } } }, loopback = { .u = { .words = { [3] = 1 } } };
int plain = (1, 2), other = 4;
static __thread int of_thread = 0;
typeof (three) copy;
