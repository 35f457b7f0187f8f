/*
 * Replaces the resolver and the network in every process of a gateway (`NODE_OPTIONS=--import …`). The file that
 * SLUICE_TEST_NETWORK names holds `{ names, here, log }`. `names` has the answers to successive queries for each name; the last answer
 * repeats. Connections to addresses of `here` go to the same port of the loopback interface; connections to other addresses outside
 * it fail. The file `log` gets a line for each address of a connection.
 */
import dns from 'node:dns'
import { appendFileSync, readFileSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import net from 'node:net'

const { names, here, log } = JSON.parse(readFileSync(process.env.SLUICE_TEST_NETWORK, 'utf8'))
const asked = new Map()

dns.lookup = (host, ...rest) => {
  const callback = rest.at(-1)
  const options = rest.length > 1 ? rest[0] : {}
  const nth = asked.get(host) ?? 0
  asked.set(host, nth + 1)
  const answers = names[host]
  const addresses = net.isIP(host) === 0 ? (answers?.[Math.min(nth, answers.length - 1)] ?? []) : [host]
  const found = addresses.map((address) => ({ address, family: net.isIP(address) }))
  process.nextTick(() => {
    if (found.length === 0) callback(Object.assign(new Error(`no answer for ${host}`), { code: 'ENOTFOUND' }))
    else if (options.all === true) callback(null, found)
    else callback(null, found[0].address, found[0].family)
  })
}

/** The address that a connection goes to; null: it fails. */
function reached(address, port) {
  appendFileSync(log, `${address} ${port}\n`)
  if (here.includes(address)) return '127.0.0.1'
  return address === '127.0.0.1' ? address : null
}

const refused = (address) => Object.assign(new Error(`connect to ${address}`), { code: 'ECONNREFUSED' })

const { connect } = net.Socket.prototype
net.Socket.prototype.connect = function (...given) {
  const [options, listener] = Array.isArray(given[0]) ? given[0] : given
  if (typeof options !== 'object' || options.port === undefined) return connect.apply(this, given)
  const { host = '127.0.0.1', port, lookup = dns.lookup } = options
  if (net.isIP(host) !== 0) {
    const address = reached(host, port)
    return address === null ? this.destroy(refused(host)) : connect.call(this, { ...options, host: address }, listener)
  }
  const mapped = (name, wanted, callback) => {
    lookup(name, { ...wanted, all: true }, (error, found) => {
      if (error !== null) return callback(error)
      const open = found
        .flatMap(({ address }) => reached(address, port) ?? [])
        .map((address) => ({ address, family: 4 }))
      if (open.length === 0) callback(refused(name))
      else if (wanted.all === true) callback(null, open)
      else callback(null, open[0].address, 4)
    })
  }
  return connect.call(this, { ...options, lookup: mapped }, listener)
}

syncBuiltinESMExports()
