/* SPDX-License-Identifier: MIT */
/*
 * The io provider without the kernel module. A record describes a request to a device.
 * It does not contain the file.
 */
#pragma D attributes Evolving/Evolving/ISA translator

inline int B_BUSY = 0x1;
inline int B_DONE = 0x2;
inline int B_ERROR = 0x4;
inline int B_PAGEIO = 0x10;
inline int B_PHYS = 0x20;
inline int B_READ = 0x40;
inline int B_WRITE = 0x100;
inline int B_ASYNC = 0x400;

/* b_edev is the kernel's number of the device. */
typedef struct bufinfo {
	int b_flags;
	size_t b_bcount;
	caddr_t b_addr;
	uint64_t b_lblkno;
	uint64_t b_blkno;
	size_t b_resid;
	size_t b_bufsize;
	caddr_t b_iodone;
	int b_error;
	uint32_t b_edev;
} bufinfo_t;

typedef struct devinfo {
	int dev_major;
	int dev_minor;
	int dev_instance;
	string dev_name;
	string dev_statname;
	string dev_pathname;
} devinfo_t;

/*
 * r is a number that identifies the request. arg3 to arg8 are the device, the first
 * sector, the number of bytes, the error, the flags, and the address of the device's
 * name.
 */
translator bufinfo_t < struct dtrace_request *r > {
	b_flags = (int)arg7;
	b_bcount = arg5;
	b_addr = 0;
	b_lblkno = arg4;
	b_blkno = arg4;
	b_resid = arg6 ? arg5 : 0;
	b_bufsize = arg5;
	b_iodone = 0;
	b_error = (int)arg6;
	b_edev = (uint32_t)arg3;
};

translator devinfo_t < struct dtrace_request *r > {
	dev_major = (int)(arg3 >> 20);
	dev_minor = (int)(arg3 & 0xfffff);
	dev_instance = (int)(arg3 & 0xfffff);
	dev_name = stringof((char *)arg8);
	dev_statname = stringof((char *)arg8);
	dev_pathname = strjoin("/dev/", stringof((char *)arg8));
};

translator fileinfo_t < struct dtrace_request *r > {
	fi_name = "<unknown>";
	fi_dirname = "<unknown>";
	fi_pathname = "<unknown>";
	fi_offset = arg4 * 512;
	fi_fs = "<unknown>";
	fi_mount = "<unknown>";
	fi_oflags = 0;
};

provider io {
	probe done(struct dtrace_request *buf, struct dtrace_request *dev, struct dtrace_request *file) :
	    (bufinfo_t *buf, devinfo_t *dev, fileinfo_t *file);
	probe start(struct dtrace_request *buf, struct dtrace_request *dev, struct dtrace_request *file) :
	    (bufinfo_t *buf, devinfo_t *dev, fileinfo_t *file);
};
