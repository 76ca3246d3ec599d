/*
 * Creates, writes, closes and removes a file with O_DSYNC, again and again, without
 * reading a clock in between: the loop that the filesync engine must not be slower
 * than. Each file is named by its full path, or with the argument "at" by its name in
 * a directory that is open, as the engine does it. Prints files per second.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

int main(int argc, char *argv[])
{
	static char buffer[1 << 20];
	char filename[4096];
	struct timespec start, stop;
	long i, files, size;
	int dir = AT_FDCWD;

	if (argc < 4 || argc > 5 || strlen(argv[1]) > sizeof filename - 16 ||
	    (files = atol(argv[2])) < 1 || (size = atol(argv[3])) < 1 || size > (long)sizeof buffer) {
		fprintf(stderr, "usage: filesync directory files size [at]\n");
		return 2;
	}
	if (argc == 5 && (dir = open(argv[1], O_RDONLY | O_DIRECTORY)) < 0)
		fail("open directory");
	for (i = 0; i < size; i++)
		buffer[i] = (char)(i * 7);
	clock_gettime(CLOCK_MONOTONIC, &start);
	for (i = 0; i < files; i++) {
		int fd;

		filename[0] = 0;
		if (dir == AT_FDCWD) {
			strcpy(filename, argv[1]);
			strcat(filename, "/");
		}
		strcat(filename, "filesync_test");
		fd = openat(dir, filename, O_CREAT | O_RDWR | O_DSYNC, 0600);
		if (fd < 0)
			fail("open");
		if (write(fd, buffer, (size_t)size) != size)
			fail("write");
		if (close(fd) != 0)
			fail("close");
		if (unlinkat(dir, filename, 0) != 0)
			fail("unlink");
	}
	clock_gettime(CLOCK_MONOTONIC, &stop);
	printf("%.3f\n", (double)files / ((double)(stop.tv_sec - start.tv_sec) + (double)(stop.tv_nsec - start.tv_nsec) / 1e9));
	return 0;
}
