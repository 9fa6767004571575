/*
 * A provider declaration may reorder, omit and retype arguments, and may be repeated.
 * @flags: -q
 */
typedef struct conn { int fd; struct conn *next; } conn_t;
struct info { int number; };
provider web { probe go(int a, conn_t *b, int) : (struct info *b, int a); probe stop(char *) : (string); };
provider web { probe go(int a, conn_t *b, int) : (struct info *b, int a); probe stop(char *) : (string); };
#pragma D attributes Stable/Evolving/Common provider web args
BEGIN { printf("on\n"); exit(0); }
