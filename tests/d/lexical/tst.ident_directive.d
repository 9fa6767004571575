/*
 * #ident and pragmas other than those of D are ignored.
 * @flags: -q
 */
#ident "@(#)a.d"
#pragma ident "@(#)b.d"
#pragma once
#
BEGIN { printf("on\n"); exit(0); }
