/*
 * The options for buffers, rates and stacks are accepted.
 * @flags: -q -x bufsize=1m -x bufpolicy=switch -x bufresize=auto -x aggsize=1m -x aggrate=10hz -x switchrate=10hz -x statusrate=1s -x cleanrate=101hz -x temporal -x cpu=0 -x stackframes=5 -x ustackframes=5 -x jstackframes=5 -x jstackstrsize=64 -x maxframes=32
 */
BEGIN { printf("on\n"); exit(0); }
