"""Dates that messages name."""

from __future__ import annotations

from datetime import date, time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from longmind.clock import Micros, to_micros
from longmind.language.dates import DateSpan, find_dates, resolve_dates

MONDAY = to_micros("2023-05-08T13:56:00Z")
WEDNESDAY = to_micros("2023-05-10T09:00:00Z")
SATURDAY = to_micros("2023-05-13T09:00:00Z")
SUNDAY = to_micros("2023-05-14T09:00:00Z")
OCTOBER = to_micros("2023-10-20T18:55:00Z")
JANUARY = to_micros("2023-01-02T08:00:00Z")


def days_in(text: str, said_at: Micros = MONDAY) -> list[str]:
    """Each date as one day, or as the first and the last; habits are none."""
    return [_days(found) for found in find_dates(text, said_at) if found.relation != "recurring"]


def _days(found: DateSpan) -> str:
    return str(found.first) if found.first == found.last else f"{found.first} {found.last}"


def the_date_in(text: str, said_at: Micros = MONDAY) -> DateSpan:
    [found] = find_dates(text, said_at)
    return found


@pytest.mark.parametrize(
    ("text", "days"),
    [
        # Days that are counted from today.
        ("I went to a support group yesterday.", "2023-05-07"),
        ("See you tonight!", "2023-05-08"),
        ("I'll be there tomorrow", "2023-05-09"),
        ("Tomorrow's gonna be great", "2023-05-09"),
        ("The day before yesterday it rained", "2023-05-06"),
        ("We leave the day after tomorrow", "2023-05-10"),
        ("We had dinner last night", "2023-05-07"),
        ("It happened the night before last", "2023-05-06"),
        ("I ran this morning", "2023-05-08"),
        ("Earlier today I ran", "2023-05-08"),
        ("I liked today's class", "2023-05-08"),
        ("It was two days ago", "2023-05-06"),
        ("It was 10 days ago", "2023-04-28"),
        ("It was twenty-five days ago", "2023-04-13"),
        ("A couple of days ago I fell", "2023-05-06"),
        ("A few days ago I fell", "2023-05-04 2023-05-06"),
        ("We leave in two days", "2023-05-10"),
        ("We leave in ten days' time", "2023-05-18"),
        ("The party is a week from today", "2023-05-15"),
        ("A year ago today we met", "2022-05-08"),
        # Weekdays.
        ("Last Friday I won", "2023-05-05"),
        ("I joined last Tues.", "2023-05-02"),
        ("this past Friday we danced", "2023-05-05"),
        ("this coming Friday we dance", "2023-05-12"),
        ("See you this Friday", "2023-05-12"),
        ("See you next Tuesday", "2023-05-16"),
        ("We met on Friday last week", "2023-05-05"),
        ("Next week on Thursday I fly", "2023-05-18"),
        ("We will meet on Friday of the following week", "2023-05-19"),
        ("Two Fridays ago I ran", "2023-04-28"),
        ("The Friday before last I ran", "2023-04-28"),
        ("We will meet a week from Friday", "2023-05-19"),
        # Weeks, months, seasons and years.
        ("I graduated last week!", "2023-05-01 2023-05-07"),
        ("Guess what I did this week?", "2023-05-08 2023-05-14"),
        ("I'm off next week", "2023-05-15 2023-05-21"),
        ("The week before last was hard", "2023-04-24 2023-04-30"),
        ("I'm away the week after next", "2023-05-22 2023-05-28"),
        ("I biked last weekend", "2023-05-06 2023-05-07"),
        ("this past weekend was insane", "2023-05-06 2023-05-07"),
        ("We camped two weekends ago", "2023-04-29 2023-04-30"),
        ("The road trip is next weekend", "2023-05-20 2023-05-21"),
        ("I took it last month", "2023-04-01 2023-04-30"),
        ("I'm going to a conference this month", "2023-05-01 2023-05-31"),
        ("We're going camping next month", "2023-06-01 2023-06-30"),
        ("I painted it last year", "2022-01-01 2022-12-31"),
        ("We move next year", "2024-01-01 2024-12-31"),
        ("I took a pic last summer", "2022-06-01 2022-08-31"),
        ("We'll hike this summer", "2023-06-01 2023-08-31"),
        ("Last winter I skied", "2022-12-01 2023-02-28"),
        ("I moved here in the summer of 2019", "2019-06-01 2019-08-31"),
        ("I got it two summers ago", "2021-06-01 2021-08-31"),
        ("The summer before last we swam", "2021-06-01 2021-08-31"),
        ("We swam in summer last year", "2022-06-01 2022-08-31"),
        ("It was in early spring", "2023-03-01 2023-03-31"),
        ("This time last year I was in Rome", "2022-05-01 2022-05-31"),
        ("Last May I ran", "2022-05-01 2022-05-31"),
        ("Next May I'll run", "2024-05-01 2024-05-31"),
        ("It was in April last year", "2022-04-01 2022-04-30"),
        # Counted weeks, months and years.
        ("I got a puppy two weeks ago", "2023-04-21 2023-04-27"),
        ("I saw her a fortnight ago", "2023-04-21 2023-04-27"),
        ("I'll fly in three weeks", "2023-05-26 2023-06-01"),
        ("A few weeks ago I fell", "2023-04-07 2023-04-27"),
        ("I bought it about a month ago", "2023-04-01 2023-04-30"),
        ("A few months back I started", "2023-01-01 2023-03-31"),
        ("half a year ago", "2022-10-01 2022-12-31"),
        ("A year and a half ago I quit", "2021-10-01 2021-12-31"),
        ("I first watched it around 3 years ago", "2020-01-01 2020-12-31"),
        ("It was 3-2 years ago", "2020-01-01 2021-12-31"),
        ("He retired two or three years ago", "2020-01-01 2021-12-31"),
        ("I was in London a few years ago", "2019-01-01 2021-12-31"),
        ("Almost a decade ago", "2012-01-01 2014-12-31"),
        ("A year from now I'll be done", "2024-01-01 2024-12-31"),
        ("I'll rest over the next few days", "2023-05-08 2023-05-12"),
        # The calendar.
        ("We met on may 5", "2023-05-05"),
        ("We met on May 5 last year", "2022-05-05"),
        ("He was born on 3 March 1985", "1985-03-03"),
        ("We got married on June 5th, 2015 in Rome", "2015-06-05"),
        ("It was the 7th of May, 2021", "2021-05-07"),
        ("It was on May seventh, 2021", "2021-05-07"),
        ("The first of June 2021 was hot", "2021-06-01"),
        ("It happened on Wednesday, May 3", "2023-05-03"),
        ("Dec. 24 was cold", "2022-12-24"),
        ("I'm training for a race on June 24th", "2023-06-24"),
        ("It was on 2023-01-02", "2023-01-02"),
        ("It was on 2023/1/2", "2023-01-02"),
        ("It was 5/12/2022", "2022-05-12"),
        ("It was 25/12/2022", "2022-12-25"),
        ("It was 2.3.2022", "2022-03-02"),
        ("It arrived on 1/20 and is good", "2023-01-20"),
        ("I bought it on 1/15.", "2023-01-15"),
        ("It was the 3rd of last month", "2023-04-03"),
        ("We met on the 15th.", "2023-04-15"),
        ("Let's meet on the 15th", "2023-05-15"),
        ("I graduated in May 2010", "2010-05-01 2010-05-31"),
        ("I graduated in May of 2010", "2010-05-01 2010-05-31"),
        ("I graduated in march 2010", "2010-03-01 2010-03-31"),
        ("back in 2019 I moved", "2019-01-01 2019-12-31"),
        ("He was born in '85", "1985-01-01 1985-12-31"),
        ("I worked there from 2016 to 2019", "2016-01-01 2019-12-31"),
        ("a watch of the 1960s", "1960-01-01 1969-12-31"),
        ("a book from the 1800s", "1800-01-01 1899-12-31"),
        ("We were away from 3 May to 5 May", "2023-05-03 2023-05-05"),
        ("It's on June 3-7", "2023-06-03 2023-06-07"),
        ("We were in Rome from Monday to Friday", "2023-05-01 2023-05-05"),
        ("It was between 3 May and 7 May 2021", "2021-05-03 2021-05-07"),
        # Parts, and what is told from another date.
        ("It was the Sunday before 25 May 2022", "2022-05-22"),
        ("It was the Sunday following 25 May 2022", "2022-05-29"),
        ("The week before 9 June 2022", "2022-06-02 2022-06-08"),
        ("The week of 23 August 2022", "2022-08-22 2022-08-28"),
        ("The weekend after 3 June 2022", "2022-06-04 2022-06-05"),
        ("Two days before Christmas it snowed", "2022-12-23"),
        ("The day after Christmas we flew home", "2022-12-26"),
        ("In early 2020 all closed", "2020-01-01 2020-04-30"),
        ("I bought it in late April", "2023-04-21 2023-04-30"),
        ("I'll be done by the end of the month", "2023-05-26 2023-05-31"),
        ("The first weekend of August 2023", "2023-08-05 2023-08-06"),
        ("The last week of September 2022", "2022-09-24 2022-09-30"),
        ("The second Tuesday of June is the meeting", "2023-06-13"),
        ("It's later this month", "2023-05-08 2023-05-31"),
        # Holidays.
        ("Last Christmas I gave you my heart", "2022-12-25"),
        ("We got engaged at Christmas", "2022-12-25"),
        ("It was around Christmas last year", "2022-12-25"),
        ("We'll go skiing at Easter", "2024-03-31"),
        ("On New Year's Eve we'll dance", "2023-12-31"),
        ("I finished it on Valentine\u2019s Day", "2023-02-14"),
        ("We saw them on Thanksgiving 2022", "2022-11-24"),
    ],
)
def test_a_date_is_found_and_counted_from_the_day_it_was_said(text: str, days: str) -> None:
    assert days_in(text) == [days]


@pytest.mark.parametrize(
    ("text", "said_at", "days"),
    [
        ("last Friday", WEDNESDAY, "2023-05-05"),
        ("last Monday", WEDNESDAY, "2023-05-08"),
        ("last Wednesday", WEDNESDAY, "2023-05-03"),
        ("this Wednesday", WEDNESDAY, "2023-05-10"),
        ("next Friday", WEDNESDAY, "2023-05-19"),
        ("next Friday", SUNDAY, "2023-05-19"),
        ("last Friday", SATURDAY, "2023-05-12"),
        ("this weekend", SATURDAY, "2023-05-13 2023-05-14"),
        ("last weekend", SUNDAY, "2023-05-06 2023-05-07"),
        ("last week", SATURDAY, "2023-05-01 2023-05-07"),
        ("last week", SUNDAY, "2023-05-07 2023-05-13"),
        ("next week", SUNDAY, "2023-05-15 2023-05-21"),
        ("Friday last week", SUNDAY, "2023-05-12"),
        ("last summer", OCTOBER, "2023-06-01 2023-08-31"),
        ("last August", OCTOBER, "2023-08-01 2023-08-31"),
        ("last month", JANUARY, "2022-12-01 2022-12-31"),
        ("last week", JANUARY, "2022-12-26 2023-01-01"),
        ("last night", JANUARY, "2023-01-01"),
        ("the day before yesterday", JANUARY, "2022-12-31"),
        ("two months ago", JANUARY, "2022-11-01 2022-11-30"),
        ("last winter", JANUARY, "2021-12-01 2022-02-28"),
    ],
)
def test_what_is_meant_depends_on_the_day_it_was_said(text: str, said_at: Micros, days: str) -> None:
    assert days_in(text, said_at) == [days]


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("I met her on Tuesday.", "2023-05-02"),
        ("I'm meeting her on Tuesday.", "2023-05-09"),
        ("I have a dentist appointment on Tuesday.", "2023-05-09"),
        ("I had a dentist appointment on Tuesday.", "2023-05-02"),
        ("We will celebrate on Friday what we won.", "2023-05-12"),
        ("We went camping, and on Friday we're heading home.", "2023-05-12"),
        ("On Friday, I got great news", "2023-05-05"),
        ("Sunday we went to the zoo", "2023-05-07"),
        ("See you Friday!", "2023-05-12"),
        ("I left at 5 p.m. Friday.", "2023-05-05"),
        ("I went running on Monday", "2023-05-01"),
        ("You've got a game to look forward to on Sunday", "2023-05-14"),
        ("I've been thinking about a trip in January", "2024-01-01 2024-01-31"),
        ("I started one in January", "2023-01-01 2023-01-31"),
        ("We're planning a trip for October", "2023-10-01 2023-10-31"),
        ("She left in October.", "2022-10-01 2022-10-31"),
        ("It was on October 3rd", "2022-10-03"),
        ("It will be on October 3rd", "2023-10-03"),
        ("We had fun over the weekend", "2023-05-06 2023-05-07"),
        ("Do you have plans for the weekend?", "2023-05-13 2023-05-14"),
        ("I travelled over the summer", "2022-06-01 2022-08-31"),
        ("I'll travel over the summer", "2023-06-01 2023-08-31"),
        ("On Friday I said hi to every guest", "2023-05-05"),
        ("I've always loved it, so on Friday I went", "2023-05-05"),
        ("I had to quit this fall", "2022-09-01 2022-11-30"),
    ],
)
def test_the_verb_tells_whether_it_is_past_or_to_come(text: str, days: str) -> None:
    assert days_in(text) == [days]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "I may go. May I go?",
        "May went home, and I saw May in town.",
        "We sat in the sun with mon ami, who wed and then fri",
        "They march on; the march was long.",
        "Wait a second, this is my second try",
        "I fall down, and the fall hurt",
        "April said hi to June and August",
        "Jan told me",
        "version 1.2.3 at 192.168.1.1",
        "the score was 3-2 and 10-12",
        "it costs $20.23 or 12.05",
        "open 24/7, a 1/72 scale model, 50/50, 1/2 cup",
        "call 555-1234-2020 or 555-12-2023",
        "order 2023-05-07-123",
        "she is 12 years old, a 3-year-old, in her 20s",
        "He is two years younger",
        "in today's world, today's youth",
        "It is still used today",
        "one day, someday, some day, the other day, day by day, these days, nowadays",
        "recently, lately, a while ago, years ago, long ago, months ago",
        "the next day we left, the following week we came, the day before was hot",
        "two years later he died",
        "It lasted three weeks",
        "We stayed for three weeks",
        "I'll be there for three weeks",
        "I read all of it in two weeks",
        "You can finish it in a few days",
        "in 10 minutes, in an hour",
        "Rome wasn't built in a day",
        "on the 7th floor, my 4th one, the 3rd time",
        "I wrote 2000 words and ate 1800 calories in 2000 steps",
        "my 2018 Ford, Cyberpunk 2077, a 1943 coin",
        "the meeting is at 3pm",
        "the song Yesterday, USA Today and The Tonight Show",
        'We sang "Yesterday" and "Friday I\'m in Love"',
        "Saturday Night Fever was on, Taco Tuesday too",
        "on a Friday afternoon, one Sunday, some lazy Saturday",
        "my Saturday lessons, the Sunday paper",
        "Monday (Cardio)",
        "Monday: chest\nTuesday: legs\n**Friday**: rest",
        "Our Christmas tree, the Halloween party, I love Easter",
        "Happy New Year!",
        "In summer it is hot. I love hiking in the summer.",
        "on 31/31/2023",
        "Day 1, week 2, month 3, year 4",
    ],
)
def test_what_is_no_date_is_left_alone(text: str) -> None:
    assert [text[found.start : found.end] for found in find_dates(text, MONDAY)] == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("I go every Tuesday", "every Tuesday"),
        ("I go on Fridays", "Fridays"),
        ("every Monday, Wednesday and Friday I run", "every Monday, Wednesday and Friday"),
        ("Tuesdays and Thursdays are full", "Tuesdays and Thursdays"),
        ("Friday nights are fun", "Friday nights"),
        ("twice a week I swim", "twice a week"),
        ("on weekends I sleep", "on weekends"),
        ("every other Saturday we meet", "every other Saturday"),
        ("Open Monday to Friday", "Monday to Friday"),
        ("every summer we swim", "every summer"),
        ("I usually run on Sunday", "Sunday"),
        ("My birthday is August 13th", "August 13th"),
        ("I was born in August", "August"),
    ],
)
def test_a_habit_is_told_apart_from_an_event(text: str, words: str) -> None:
    found = the_date_in(text)
    assert (text[found.start : found.end], found.relation) == (words, "recurring")
    assert resolve_dates(text, [found]) == text


@pytest.mark.parametrize(
    ("text", "days", "relation"),
    [
        ("I've lived here since 2016", "2016-01-01 2016-12-31", "since"),
        ("I've been ill since yesterday", "2023-05-07", "since"),
        ("As of last week I'm out", "2023-05-01 2023-05-07", "since"),
        ("I'm off until Thursday", "2023-05-11", "until"),
        ("It's due by Friday", "2023-05-12", "until"),
        ("I want it done by the end of next week", "2023-05-19 2023-05-21", "until"),
        ("I quit before May 2020", "2020-05-01 2020-05-31", "before"),
        ("We met after Christmas 2020", "2020-12-25", "after"),
        ("I've lived here for three years", "2020-01-01 2020-12-31", "duration"),
        ("I've had them for 3 months now", "2023-02-01 2023-02-28", "duration"),
        ("Seven years now, and I love it", "2016-01-01 2016-12-31", "duration"),
        ("I've been there for 4 years and 3 months", "2019-02-01 2019-02-28", "duration"),
        ("I've been tired over the past few weeks", "2023-04-07 2023-04-27", "duration"),
        ("I haven't seen her in three years", "2020-01-01 2020-12-31", "duration"),
        ("It's been two weeks since we talked", "2023-04-21 2023-04-27", "duration"),
        ("The last few days were hard", "2023-05-04 2023-05-06", "duration"),
        ("I've had him 5 years already", "2018-01-01 2018-12-31", "duration"),
        ("a picture from last Friday", "2023-05-05", "on"),
    ],
)
def test_it_is_said_how_the_days_are_meant(text: str, days: str, relation: str) -> None:
    found = the_date_in(text)
    assert (_days(found), found.relation) == (days, relation)


@pytest.mark.parametrize(
    ("text", "day", "at", "precision"),
    [
        ("yesterday evening we met", "2023-05-07", time(18), "day"),
        ("tomorrow morning at 9am we go", "2023-05-09", time(9), "instant"),
        ("We had a talk last Tuesday night", "2023-05-02", time(21), "day"),
        ("I'm free this afternoon", "2023-05-08", time(12), "day"),
        ("See you Friday at 7:30 pm", "2023-05-12", time(19, 30), "instant"),
        ("I'll be there at 15:30 on Friday", "2023-05-12", time(15, 30), "instant"),
        ("I worked from 9am to 5pm yesterday", "2023-05-07", time(9), "instant"),
        ("the morning of 7 May 2021", "2021-05-07", time(6), "day"),
        ("it began 2023-05-01T10:30:00Z", "2023-05-01", time(10, 30), "instant"),
        ("We have a test tomorrow at 12 am", "2023-05-09", time(0), "instant"),
        ("We have a test tomorrow", "2023-05-09", None, "day"),
    ],
)
def test_the_time_of_day_goes_with_the_day(text: str, day: str, at: time | None, precision: str) -> None:
    found = the_date_in(text)
    assert (str(found.first), found.at, found.precision) == (day, at, precision)


@pytest.mark.parametrize(
    ("text", "precision"),
    [
        ("yesterday", "day"),
        ("a couple of days ago", "week"),
        ("last week", "week"),
        ("last weekend", "week"),
        ("last month", "month"),
        ("last summer", "season"),
        ("last year", "year"),
        ("three years ago", "year"),
        ("early last year", "season"),
        ("late last month", "week"),
    ],
)
def test_it_is_known_how_exact_a_date_is(text: str, precision: str) -> None:
    assert the_date_in(text).precision == precision


@pytest.mark.conforms("A3.4")
@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("went to a support group yesterday", "went to a support group yesterday (7 May 2023)"),
        ("it was last week.", "it was last week (1\N{EN DASH}7 May 2023)."),
        ("next month we camp", "next month (June 2023) we camp"),
        ("I painted it last year!", "I painted it last year (2022)!"),
        ("last summer was fun", "last summer (2022) was fun"),
        ("Last winter was cold", "Last winter (2022\N{EN DASH}2023) was cold"),
        ("a couple of days ago", "a couple of days ago (around 6 May 2023)"),
        ("in three weeks", "in three weeks (26 May \N{EN DASH} 1 June 2023)"),
        ("a few months back", "a few months back (January\N{EN DASH}March 2023)"),
        ("half a year ago", "half a year ago (October\N{EN DASH}December 2022)"),
        ("a few years ago", "a few years ago (2019\N{EN DASH}2021)"),
        ("I've run for three years", "I've run for three years (since 2020)"),
        ("It was on May 7th.", "It was on May 7th, 2023."),
        ("It was on 7 May.", "It was on 7 May 2023."),
        ("It was in April, then in late March", "It was in April 2023, then in late March 2023"),
        ("We met on 1/20", "We met on 1/20 (20 January 2023)"),
        ("the Sunday before 25 May 2022", "the Sunday before 25 May 2022 (22 May 2022)"),
        ("We met at Christmas", "We met at Christmas (25 December 2022)"),
        ("see you tomorrow\u202fat\u00a03pm", "see you tomorrow\u202fat\u00a03pm (9 May 2023)"),
        (
            "It was 7 May 2021, 2021-05-07, 5/7/2021 or in May 2021",
            "It was 7 May 2021, 2021-05-07, 5/7/2021 or in May 2021",
        ),
        ("since 2016, in the summer of 2019, the 1990s", "since 2016, in the summer of 2019, the 1990s"),
        ("tomorrow night's game", "tomorrow night's (9 May 2023) game"),
        ("I was born on August 13", "I was born on August 13"),
        ("nothing at all", "nothing at all"),
    ],
)
def test_a_text_is_made_self_contained(text: str, whole: str) -> None:
    assert resolve_dates(text, find_dates(text, MONDAY)) == whole


def test_several_dates_are_found_in_their_order() -> None:
    text = "Last month I got hurt, yesterday I ran, and on Friday I'll swim."
    assert days_in(text) == ["2023-04-01 2023-04-30", "2023-05-07", "2023-05-12"]
    assert [text[found.start : found.end] for found in find_dates(text, MONDAY)] == [
        "Last month",
        "yesterday",
        "Friday",
    ]


def test_a_date_that_shows_the_order_of_numbers_shows_it_for_the_others() -> None:
    assert days_in("It was on 13/06/22 and on 05/06/22.") == ["2022-06-13", "2022-06-05"]


def test_a_day_that_does_not_exist_is_taken_for_its_month() -> None:
    assert days_in("It was on 30 February 2023") == ["2023-02-01 2023-02-28"]


def test_quoted_speech_is_no_title() -> None:
    assert days_in('"I went there yesterday," she said. "Yesterday was great."') == ["2023-05-07", "2023-05-07"]


def test_a_date_far_into_a_long_message_is_found() -> None:
    text = "So it goes on and on. " * 500 + "I went there yesterday."
    [found] = find_dates(text, MONDAY)
    assert text[found.start : found.end] == "yesterday"


def test_letters_that_grow_in_lower_case_do_not_move_the_dates() -> None:
    text = "\u0130stanbul " * 40 + "was lovely last week"
    [found] = find_dates(text, MONDAY)
    assert text[found.start : found.end] == "last week"


@pytest.mark.parametrize(
    "said_at", [to_micros("0001-01-01T00:00:00Z"), to_micros("9999-12-31T23:59:59Z"), to_micros("2024-02-29T12:00:00Z")]
)
def test_dates_at_the_edge_of_the_calendar_do_no_harm(said_at: Micros) -> None:
    words = (
        "yesterday", "tomorrow", "last week", "next week", "last year", "next year", "999 years ago", "in 900 years",
        "last Friday", "next Friday", "this weekend", "a year ago today", "last summer", "next winter",
        "last Christmas", "the week before 1 January 2000", "0001-01-01", "9999-12-31", "the day after 9999-12-31",
        "in a decade", "the day before 0001-01-01", "I left in May", "I'll go on the 31st", "29 February",
        "next Easter", "the first week of next month", "the end of the year", "over the next 99 months",
    )  # fmt: skip
    for text in words:
        for found in find_dates(text, said_at):
            assert date.min <= found.first <= found.last <= date.max
            assert resolve_dates(text, [found]).startswith(text[: found.end])


WORDS = st.sampled_from(
    "a an the this last next past coming on in at by since until before after of from to for and between early "
    "late mid every each day days week weeks weekend month months year years decade fortnight ago back now Friday "
    "Fridays Mon sat May may March june December 1 2 3rd 7th 31 31st 1/2 30/2/2023 5/12/2023 2023-05-07 2023 1999 "
    "9999 1990s '85 3pm 15:30 noon morning night yesterday today tonight tomorrow's summer fall winter Christmas "
    "New Year's Easter Eve half couple few several two twenty-five first second went will be have been I've , . - "
    '; ( ) " '
    "\n".split(" ")
)
MOMENTS = st.integers(to_micros("0001-01-01T00:00:00Z"), to_micros("9999-12-31T23:59:59Z"))


@given(text=st.one_of(st.text(), st.lists(WORDS, max_size=25).map(" ".join)), said_at=MOMENTS)
def test_any_text_can_be_read_and_its_spans_are_apart_and_in_order(text: str, said_at: Micros) -> None:
    end = 0
    spans = find_dates(text, said_at)
    for found in spans:
        assert end <= found.start < found.end <= len(text)
        assert found.first <= found.last
        end = found.end
    assert len(resolve_dates(text, spans)) >= len(text)
