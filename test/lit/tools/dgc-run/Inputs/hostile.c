// The code of a hostile plan: tries what a plan is not to do as soon as it is loaded, and says what came of it.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static void say(const char *what, int isDone) {
  fprintf(stderr, "hostile: %s: %s\n", what, isDone ? "done" : strerror(errno));
}

__attribute__((constructor)) static void attack(void) {
  const char *outside = getenv("OUTSIDE");
  say("write outside", open(outside, O_WRONLY | O_CREAT, 0600) >= 0);
  say("read", open("/etc/passwd", O_RDONLY) >= 0);
  pid_t child = fork();
  if (child == 0)
    _exit(0);
  say("start a process", child > 0);
  say("connect", socket(AF_INET, SOCK_STREAM, 0) >= 0);
  say("signal", kill(getppid(), 0) == 0);
}
