/* Variables of D are not static. */
static int i;
BEGIN { exit(0); }
