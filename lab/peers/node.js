// Node's own http module as it is measured: one thread, no timeouts (they would also add a Keep-Alive field to every
// answer), and Content-Length said by the handler, so that nothing is sent in chunks.
//
//   node node.js PORT JSON      serves /health, /json (this text), /echo and /sum on 127.0.0.1
'use strict';
const http = require('node:http');

const [port, json] = process.argv.slice(2);

function answer(response, type, content) {
  response.writeHead(200, { 'Content-Type': type, 'Content-Length': Buffer.byteLength(content) });
  response.end(content);
}

function withContent(request, then) {
  const pieces = [];
  request.on('data', (piece) => pieces.push(piece));
  request.on('end', () => then(Buffer.concat(pieces)));
}

function handle(request, response) {
  const path = request.url.split('?', 1)[0];
  switch (path) {
    case '/health':
      return answer(response, 'text/plain', 'OK');
    case '/json':
      return answer(response, 'application/json', json);
    case '/echo':
      return withContent(request, (content) => answer(response, 'application/octet-stream', content));
    case '/sum': {
      const query = new URLSearchParams(request.url.slice(path.length));
      return withContent(request, (content) =>
        answer(response, 'text/plain', String(Number(query.get('a')) + Number(query.get('b')) + Number(content))));
    }
    default:
      response.writeHead(404, { 'Content-Length': 0 });
      return response.end();
  }
}

const server = http.createServer({ keepAliveTimeout: 0, requestTimeout: 0, headersTimeout: 0 }, handle);
server.maxRequestsPerSocket = 0;
server.listen({ host: '127.0.0.1', port: Number(port), backlog: 4096 });
