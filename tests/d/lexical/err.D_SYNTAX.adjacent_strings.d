/* Strings beside each other are not joined. */
BEGIN { printf("a" "b"); }
