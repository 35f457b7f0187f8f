import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { endWithThisProcess } from '../../src/cli/bench/end-with-this-process.ts'
import type { Program } from '../../src/cli/bench/programs.ts'
import { answers } from '../../src/cli/bench/programs.ts'
import { freePort } from '../../test/support/free-port.ts'

/** The version of nginx; null when it is not installed. */
export function nginxVersion(binary = 'nginx'): string | null {
  const { stderr, status } = spawnSync(binary, ['-v'], { encoding: 'utf8', env: withSbin() })
  return status === 0 ? stderr.trim().replace(/^nginx version: /, '') : null
}

/** Starts nginx as a plain proxy in front of an upstream: one worker, keep-alive on both sides, no log. */
export async function startNginx(upstreamBaseUrl: string, buffering: 'on' | 'off', binary = 'nginx'): Promise<Program> {
  const directory = mkdtempSync(join(tmpdir(), 'sluice-bench-nginx-'))
  const port = await freePort()
  const file = join(directory, 'nginx.conf')
  writeFileSync(file, configuration(directory, port, new URL(upstreamBaseUrl).host, buffering))
  const child = spawn(binary, ['-p', directory, '-c', file, '-e', 'stderr'], {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: withSbin(),
  })
  endWithThisProcess(child, 'QUIT', directory)
  const baseUrl = `http://127.0.0.1:${port}/v1`
  await answers(`${baseUrl}/models`)
  return {
    pid: child.pid ?? 0,
    baseUrl,
    headers: {},
    settled: () => Promise.resolve(),
    stop: async () => {
      const exited = once(child, 'exit')
      child.kill('SIGQUIT')
      await exited
      rmSync(directory, { recursive: true, force: true })
    },
  }
}

function configuration(directory: string, port: number, upstream: string, buffering: 'on' | 'off'): string {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `  ${name}_temp_path ${directory}/${name};`,
  )
  return `${process.getuid?.() === 0 ? 'user root;' : ''}
daemon off;
worker_processes 1;
pid ${directory}/nginx.pid;
events { worker_connections 16384; }
http {
  access_log off;
${temporary.join('\n')}
  keepalive_requests 1000000000;
  upstream simulator {
    server ${upstream};
    keepalive 512;
    keepalive_requests 1000000000;
  }
  server {
    listen 127.0.0.1:${port} backlog=4096;
    tcp_nodelay on;
    location / {
      proxy_pass http://simulator;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_buffering ${buffering};
      proxy_read_timeout 3600s;
    }
  }
}
`
}

/** Debian installs nginx in `/usr/sbin`, which only the PATH of root contains. */
function withSbin(): NodeJS.ProcessEnv {
  return { ...process.env, PATH: `${process.env['PATH'] ?? ''}:/usr/sbin:/usr/local/sbin` }
}
