/* D's own names keep their versions. */
#pragma D binding "1.5" rand
BEGIN { exit(0); }
