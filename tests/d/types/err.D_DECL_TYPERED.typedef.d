/* A typedef names one type. */
typedef int t;
typedef char t;
BEGIN { exit(0); }
