#include <stddef.h>
int sum(int n, int a[n]);
int sums(size_t n, size_t m, const double a[static n][m * 2], int [*], int (*)[n + 1]);
int start(char *const argv[restrict], char *const envp[__restrict], int four[static 4], int [const]);
int regions(size_t nmatch, int pmatch[restrict nmatch]);
char *word(const char *string, int self, char *import[], unsigned counter);
typedef int compare(const void *, const void *), (*handler)(int);
handler set(int (*)(int), void (*[3])(void), handler old);
int unused(__attribute__((unused)) int a, int b __attribute__((__unused__)), register int c);
struct after { int a; };
