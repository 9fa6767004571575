/* A typedef cannot name two types. */
typedef int t;
typedef char t;
BEGIN { exit(0); }
