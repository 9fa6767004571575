inline int ONE = 1;
BEGIN { exit(0); }
