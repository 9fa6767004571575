/*
 * A header may redefine predefined types; builtins and subroutines keep the original types.
 * @flags: -qC
 */
#include "c/redefining.h"
BEGIN
{
	printf("%d %d %d\n", sizeof (uid_t), sizeof (uint64_t), sizeof (psinfo_t));
	printf("%d %d %d\n", sizeof (uid), sizeof (timestamp), sizeof (sizeof (int)));
	printf("%d\n", curpsinfo->pr_pid == pid);
	printf("%s\n", inet_ntoa6((struct in6_addr *)alloca(16)));
	exit(0);
}
