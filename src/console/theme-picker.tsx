import { chooseTheme, type Theme, theme, themes } from "./theme.ts";
import { Icon, type IconName } from "./ui/icons.tsx";

const looks: Readonly<Record<Theme, { readonly icon: IconName; readonly label: string }>> = {
  system: { icon: "system", label: "Colours of the system" },
  light: { icon: "sun", label: "Light colours" },
  dark: { icon: "moon", label: "Dark colours" },
};

/** The choice between the system's colours, light and dark. */
export function ThemePicker() {
  return (
    <fieldset class="segments theme-picker">
      <legend class="unseen">Colours</legend>
      {themes.map((one) => (
        <button
          key={one}
          type="button"
          aria-label={looks[one].label}
          title={looks[one].label}
          aria-pressed={theme.value === one}
          onClick={() => chooseTheme(one)}
        >
          <Icon name={looks[one].icon} />
        </button>
      ))}
    </fieldset>
  );
}
