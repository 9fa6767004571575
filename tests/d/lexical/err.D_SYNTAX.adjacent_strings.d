/* Adjacent strings are not joined. */
BEGIN { printf("a" "b"); }
