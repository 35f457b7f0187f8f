import { useMemo } from 'react'
import type { ReactNode } from 'react'
import { encode } from 'uqr'
import classes from './account.module.css'

const QUIET_MODULES = 2
const MODULE_PX = 4

/** Black on white in every theme: some cameras read nothing else. */
export function QrCode({ text, label }: { readonly text: string; readonly label: string }): ReactNode {
  const { size, path } = useMemo(() => {
    const { data } = encode(text, { border: QUIET_MODULES, ecc: 'M' })
    const dark = data.flatMap((row, y) => row.flatMap((isDark, x) => (isDark ? [`M${x} ${y}h1v1h-1z`] : [])))
    return { size: data.length, path: dark.join('') }
  }, [text])
  return (
    <div className={classes.picture}>
      <svg
        role="img"
        aria-label={label}
        width={size * MODULE_PX}
        height={size * MODULE_PX}
        viewBox={`0 0 ${size} ${size}`}
        shapeRendering="crispEdges"
      >
        <path d={path} fill="#000" />
      </svg>
    </div>
  )
}
