/*
 * Inlines and translators of the program may use fds[].
 * @command: files
 * @replace: \[\d+\] -> [N]
 * @flags: -q
 */
inline string path[int fd] = fds[fd].fi_pathname;
inline int is_open[int fd] = path[fd] != "<none>";

struct where { int fd; };
struct place { string name; int flags; };

translator struct place < struct where *W > {
	name = fds[W->fd].fi_name;
	flags = fds[W->fd].fi_oflags;
};

struct where one;

pid$target:a.out:look:entry
/ is_open[arg1] && path[arg1] == "/dev/null" || strstr(path[arg1], "pipe:") == path[arg1] /
{
	one.fd = arg1;
	printf("%s %s %o\n", path[arg1], xlate <struct place> (&one).name,
	    xlate <struct place> (&one).flags);
}
