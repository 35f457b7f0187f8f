import {
  ActionIcon,
  Button,
  CloseButton,
  createTheme,
  Drawer,
  Input,
  Menu,
  Modal,
  Popover,
  SegmentedControl,
  Select,
  Switch,
  Tooltip,
} from '@mantine/core'
import type { CSSVariablesResolver, MantineColorsTuple } from '@mantine/core'
import { DARK, LIGHT } from './colours.ts'
import type { Colours } from './colours.ts'
import classes from './controls.module.css'

/** Mantine wants ten shades. Components take their colours from the variables below, so the shades only have to exist. */
function shades(light: string, dark: string): MantineColorsTuple {
  return [light, light, light, light, light, light, light, light, dark, dark]
}

export const theme = createTheme({
  fontFamily:
    'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "PingFang SC", "Noto Sans CJK SC", sans-serif',
  fontFamilyMonospace: 'ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace',
  fontSizes: { xs: '12px', sm: '14px', md: '14px', lg: '16px', xl: '20px' },
  lineHeights: { xs: '16px', sm: '20px', md: '20px', lg: '24px', xl: '28px' },
  spacing: { xs: '4px', sm: '8px', md: '12px', lg: '16px', xl: '24px' },
  radius: { xs: '4px', sm: '6px', md: '6px', lg: '10px', xl: '10px' },
  defaultRadius: 'sm',
  primaryColor: 'accent',
  primaryShade: { light: 6, dark: 8 },
  colors: {
    accent: shades(LIGHT.accent, DARK.accent),
    good: shades(LIGHT.good, DARK.good),
    warn: shades(LIGHT.warn, DARK.warn),
    bad: shades(LIGHT.bad, DARK.bad),
  },
  cursorType: 'pointer',
  focusRing: 'auto',
  respectReducedMotion: true,
  components: {
    Button: Button.extend({
      defaultProps: { size: 'sm', variant: 'filled' },
      classNames: { root: classes.button ?? '' },
    }),
    ActionIcon: ActionIcon.extend({ defaultProps: { variant: 'subtle', color: 'gray', size: 28 } }),
    Input: Input.extend({
      defaultProps: { size: 'sm' },
      classNames: { wrapper: classes.field ?? '', input: classes.input ?? '' },
    }),
    InputWrapper: Input.Wrapper.extend({
      defaultProps: { size: 'sm', inputWrapperOrder: ['label', 'input', 'error', 'description'] },
      classNames: { label: classes.label ?? '', description: classes.hint ?? '', error: classes.error ?? '' },
    }),
    Select: Select.extend({ defaultProps: { allowDeselect: false, comboboxProps: { shadow: 'md' } } }),
    Switch: Switch.extend({ defaultProps: { size: 'sm' } }),
    Menu: Menu.extend({ defaultProps: { shadow: 'md', position: 'bottom-end', transitionProps: { duration: 80 } } }),
    Popover: Popover.extend({ defaultProps: { shadow: 'md', transitionProps: { duration: 80 } } }),
    Modal: Modal.extend({
      defaultProps: { centered: true, transitionProps: { duration: 120 }, overlayProps: { backgroundOpacity: 0.4 } },
      classNames: {
        title: classes.dialogTitle ?? '',
        content: classes.dialog ?? '',
        body: classes.dialogBody ?? '',
        header: classes.dialogHeader ?? '',
      },
    }),
    Drawer: Drawer.extend({ defaultProps: { transitionProps: { duration: 120 } } }),
    Tooltip: Tooltip.extend({
      defaultProps: {
        openDelay: 250,
        transitionProps: { duration: 80 },
        multiline: true,
        maw: 320,
        withinPortal: true,
      },
      classNames: { tooltip: classes.tooltip ?? '' },
    }),
    SegmentedControl: SegmentedControl.extend({
      defaultProps: { size: 'xs', withItemsBorders: false, transitionDuration: 100 },
      classNames: { root: classes.segments ?? '', label: classes.segment ?? '', indicator: classes.indicator ?? '' },
    }),
    CloseButton: CloseButton.extend({ defaultProps: { size: 28, iconSize: 16 } }),
  },
})

function variablesOf(colours: Colours): Record<`--${string}`, string> {
  const own = Object.entries(colours).map(([name, value]) => [
    `--c-${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`,
    value as string,
  ])
  const { ground, raised, line, control, text, muted, accent, onAccent, bad } = colours
  return {
    ...(Object.fromEntries(own) as Record<`--${string}`, string>),
    '--mantine-color-body': ground,
    '--mantine-color-text': text,
    '--mantine-color-bright': text,
    '--mantine-color-dimmed': muted,
    '--mantine-color-placeholder': muted,
    '--mantine-color-anchor': accent,
    '--mantine-color-default': ground,
    '--mantine-color-default-hover': raised,
    '--mantine-color-default-color': text,
    '--mantine-color-default-border': line,
    '--mantine-color-disabled': raised,
    '--mantine-color-disabled-color': muted,
    '--mantine-color-disabled-border': line,
    '--mantine-color-error': bad,
    '--mantine-color-gray-light-hover': raised,
    '--mantine-color-gray-text': muted,
    '--mantine-color-gray-light-color': muted,
    '--mantine-color-gray-filled': muted,
    '--mantine-primary-color-contrast': onAccent,
    '--c-field-border': control,
  }
}

export const cssVariables: CSSVariablesResolver = () => ({
  variables: {},
  light: variablesOf(LIGHT),
  dark: variablesOf(DARK),
})
