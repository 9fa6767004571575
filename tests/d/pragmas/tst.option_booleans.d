/* A boolean option accepts several words for yes and no. */
#pragma D option quiet=no
#pragma D option quiet=enabled
#pragma D option flowindent=OFF
#pragma D option rawbytes=disable
#pragma D option aggsortkey=unset
BEGIN { printf("on\n"); exit(0); }
