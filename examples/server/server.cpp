// Classifies handwritten digits over HTTP, with a fixed number of threads that all call one ptc::Model:
//
//     ptc compile examples/digits/model.pt2 -o digits.so
//     c++ -std=c++17 -Iruntime/include examples/server/server.cpp -o server -ldl -pthread && ./server ./digits.so 8080
//
// POST /classify takes raw float32 pixels, any number of 8x8 images, and answers {"digits": [...], "probabilities":
// [[...], ...]}. GET /health answers "ok". SIGTERM ends the server when the requests that it has begun are answered.
//
//     head -c 512 /dev/zero | curl --data-binary @- localhost:8080/classify
#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <iostream>
#include <netinet/in.h>
#include <poll.h>
#include <ptc/ptc.hpp>
#include <sstream>
#include <sys/socket.h>
#include <system_error>
#include <thread>
#include <unistd.h>

namespace {
using Clock = std::chrono::steady_clock;
constexpr size_t kMaxHead = 8 << 10, kMaxBody = 4 << 20; // the model takes less, and says itself how much
constexpr size_t kImageBytes = 64 * sizeof(float), kClasses = 10;
constexpr std::chrono::seconds kPatience(3); // until a request is here, and again until its answer is taken

/// Why a request gets no result.
struct Refusal : std::runtime_error {
  Refusal(int status, const std::string &message) : std::runtime_error(message), status(status) {}
  int status;
};
size_t check(ssize_t result, const char *what) {
  return result >= 0 ? size_t(result) : throw std::system_error(errno, std::generic_category(), what);
}

/// A client's socket. All reads must be done by one moment, and all writes by another: a client that is silent, or
/// sends a byte now and then, holds its thread no longer.
class Connection {
public:
  explicit Connection(int socket) : socket_(socket) {}
  Connection(Connection &&) = delete;
  ~Connection() { close(socket_); }
  void restartClock() { deadline_ = Clock::now() + kPatience; }
  void receive(std::string &received) {
    waitFor(POLLIN);
    char bytes[16 << 10];
    size_t count = check(recv(socket_, bytes, sizeof bytes, MSG_DONTWAIT), "recv");
    if (count == 0)
      throw Refusal(400, "the request is cut off");
    received.append(bytes, count);
  }
  void send(const std::string &text) {
    for (size_t done = 0; done < text.size();) {
      waitFor(POLLOUT);
      done += check(::send(socket_, &text[done], text.size() - done, MSG_DONTWAIT | MSG_NOSIGNAL), "send");
    }
  }
  /// Takes what the client is still sending: closed before, the connection is reset, and the answer may be lost.
  void drain() {
    shutdown(socket_, SHUT_WR);
    char rest[4096];
    do
      waitFor(POLLIN);
    while (recv(socket_, rest, sizeof rest, MSG_DONTWAIT) > 0);
  }

private:
  void waitFor(short event) {
    auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline_ - Clock::now());
    pollfd wanted = {socket_, event, 0};
    if (left.count() <= 0 || check(poll(&wanted, 1, int(left.count())), "poll") == 0)
      throw Refusal(408, "the request takes too long");
  }

  int socket_;
  Clock::time_point deadline_ = Clock::now() + kPatience;
};

/// The request's method and path, "POST /classify", and its body.
std::pair<std::string, std::string> receiveRequest(Connection &client) {
  std::string received, method, path;
  size_t end;
  while ((end = received.find("\r\n\r\n")) == std::string::npos && received.size() <= kMaxHead)
    client.receive(received);
  if (end > kMaxHead)
    throw Refusal(431, "the headers have at most " + std::to_string(kMaxHead) + " bytes");
  std::string head = received.substr(0, end);
  std::istringstream(head) >> method >> path;
  std::transform(head.begin(), head.end(), head.begin(), [](unsigned char c) { return char(std::tolower(c)); });
  size_t length = head.find("\r\ncontent-length:"), begin = end + 4;
  size_t size = length == std::string::npos ? 0 : std::strtoull(&head[length + 17], nullptr, 10);
  if (size > kMaxBody)
    throw Refusal(413, "a body has at most " + std::to_string(kMaxBody) + " bytes");
  if (head.find("\r\nexpect: 100-continue") != std::string::npos)
    client.send("HTTP/1.1 100 Continue\r\n\r\n");
  while (received.size() < begin + size)
    client.receive(received);
  return {method + ' ' + path, received.substr(begin, size)};
}

std::string classify(const ptc::Model &model, const std::string &pixels) {
  std::vector<int64_t> shape = {int64_t(pixels.size() / kImageBytes), 1, 8, 8};
  if (pixels.size() % kImageBytes != 0) // the model refuses a row of pixels, and says what it takes
    shape = {int64_t(pixels.size() / sizeof(float))};
  ptc::Results results = model(ptc::View(pixels.data(), ptc::typeOf<float>(), shape));
  ptc::Span<float> probabilities = results[0].values<float>();
  if (!std::all_of(probabilities.begin(), probabilities.end(), [](float p) { return std::isfinite(p); }))
    throw Refusal(400, "the pixels have no finite probabilities"); // JSON has no others
  std::ostringstream digits, rows;
  rows.precision(9); // tells each float32 from all others
  for (const float *row = probabilities.begin(); row != probabilities.end(); row += kClasses) {
    const char *comma = row == probabilities.begin() ? "" : ", ";
    digits << comma << std::max_element(row, row + kClasses) - row;
    rows << comma;
    for (size_t digit = 0; digit < kClasses; ++digit)
      rows << (digit == 0 ? "[" : ", ") << row[digit];
    rows << ']';
  }
  return "{\"digits\": [" + digits.str() + "], \"probabilities\": [" + rows.str() + "]}";
}

/// A request and its answer. A connection has only one, so that it holds no thread between requests.
void serve(const ptc::Model &model, Connection &client) {
  int status = 200;
  std::string type = "text/plain", answer;
  try {
    auto [request, body] = receiveRequest(client);
    if (request == "POST /classify")
      answer = classify(model, body), type = "application/json";
    else if (request == "GET /health")
      answer = "ok";
    else
      throw Refusal(404, "there are POST /classify and GET /health");
  } catch (const Refusal &refusal) {
    status = refusal.status, answer = refusal.what();
  } catch (const ptc::Error &error) {
    status = error.status() == PTC_MISMATCH ? 400 : 500, answer = error.what();
  }
  answer += '\n';
  client.restartClock();
  client.send("HTTP/1.1 " + std::to_string(status) + " \r\nContent-Type: " + type +
              "\r\nContent-Length: " + std::to_string(answer.size()) + "\r\nConnection: close\r\n\r\n" + answer);
  if (status != 200 && status != 408)
    client.drain();
}

/// What each thread does, until the listener is shut down.
void serveClients(const ptc::Model &model, int listener) {
  for (;;) {
    int socket = accept(listener, nullptr, nullptr);
    if (socket < 0 && errno == EINVAL)
      return;
    try {
      Connection client(int(check(socket, "accept")));
      serve(model, client);
    } catch (const std::exception &) { // the client has gone, or does not take its answer
    }
  }
}

/// For this machine alone: what others may reach stands behind a proxy, which knows TLS and who they are.
int listenOn(int port) {
  sockaddr_in address = {AF_INET, htons(uint16_t(port)), {htonl(INADDR_LOOPBACK)}, {}};
  auto *generic = reinterpret_cast<sockaddr *>(&address);
  socklen_t size = sizeof address;
  int listener = int(check(socket(AF_INET, SOCK_STREAM, 0), "socket")), yes = 1;
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  check(bind(listener, generic, size), "bind");
  check(listen(listener, SOMAXCONN), "listen");
  check(getsockname(listener, generic, &size), "getsockname");
  std::cout << "listening on 127.0.0.1:" << ntohs(address.sin_port) << std::endl;
  return listener;
}
} // namespace

int main(int argc, char **argv) try {
  int port = -1, threads = argc > 3 ? std::atoi(argv[3]) : 16;
  if (argc < 3 || !(std::istringstream(argv[2]) >> port) || port < 0 || port > 65535 || threads < 1)
    throw std::runtime_error("usage: server ./digits.so PORT [THREADS] (port 0: one that is free)");
  sigset_t signals; // blocked before there are other threads, which inherit it: sigwait alone takes them
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  const ptc::Model model(argv[1]);
  int listener = listenOn(port), received;
  std::vector<std::thread> workers;
  for (int i = 0; i < threads; ++i)
    workers.emplace_back([&] { serveClients(model, listener); });
  sigwait(&signals, &received);
  shutdown(listener, SHUT_RDWR); // ends every accept
  for (std::thread &worker : workers)
    worker.join();
  return 0;
} catch (const std::exception &error) {
  std::cerr << error.what() << '\n';
  return 1;
}
